"""Lists that grow while somebody reads them do not move: a bar says how many rows are new, and shows them on a click.

A page of such a list has the place of its newest row (``newest``); parts/news.html asks the same address with it as
``news`` now and then, and the view answers with the bar alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from rest_framework.exceptions import NotFound

from kschedweb.web.pagination import PAGE_SIZE, as_far_as, beyond, decode, encode, keys_of, page_shown, place_of

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.web.pagination import CursorPage

PARAMETER = "news"
NONE = "none"  # in place of a place: the list was empty
MOST = 1000  # new rows that are counted

View = Callable[..., "HttpResponseBase"]


class Told(Exception):
    """A view was asked for its news alone: this many rows, or these words."""

    def __init__(self, count: int, words: str = "") -> None:
        super().__init__(words)
        self.count, self.words = count, words


def announced(view: View) -> View:
    """Decorate a page with a list that says what is new."""

    @wraps(view)
    def telling(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Told as told:
            if not told.count:
                return HttpResponse(status=204)
            count = gettext("%(most)s or more") % {"most": f"{MOST:,}"} if told.count >= MOST else f"{told.count:,}"
            return render(
                request, "parts/new_rows.html", {"words": told.words or gettext("%(count)s new") % {"count": count}}
            )

    return telling


def newest(request: HttpRequest, rows: QuerySet[Any], shown: list[Any]) -> str:
    """The place of the first of ``shown``, the beginning of ``rows``. Raises ``Told`` where the news are asked for."""
    asked = request.GET.get(PARAMETER, "")
    if asked:
        raise Told(_newer(rows, asked))
    return encode(False, place_of(shown[0], keys_of(rows))) if shown else NONE


def growing_page(request: HttpRequest, rows: QuerySet[Any], *, within: QuerySet[Any] | None = None) -> CursorPage:
    """As ``page_shown``; the beginning of the list tells its news, and ``top`` in the address hides what is newer."""
    top = request.GET.get("top", "")
    if top and top != NONE:
        keys = keys_of(rows)
        rows = rows.filter(as_far_as([key.reversed() for key in keys], _values(top, len(keys))))
    page = page_shown(request, rows, within=within)
    if request.GET.get("cursor"):
        return page
    return replace(page, newest=top or newest(request, rows, page.rows))


def numbered_page(request: HttpRequest, rows: QuerySet[Any], size: int = PAGE_SIZE) -> Page[Any]:
    """The page that the address numbers; the first one of a list with the newest rows first tells its news."""
    page = Paginator(rows, size).get_page(request.GET.get("page"))
    if page.number == 1 and keys_of(rows)[0].descending:
        page.newest = newest(request, rows, list(page.object_list))  # type: ignore[attr-defined]
    return page


def _newer(rows: QuerySet[Any], place: str) -> int:
    """How many of ``rows`` come before ``place`` in their order, at most ``MOST``."""
    if place == NONE:
        return rows[:MOST].count()
    keys = keys_of(rows)
    values = _values(place, len(keys))
    back = [key.reversed() for key in keys]
    return rows.filter(beyond(back, values)).order_by(*(key.order() for key in back))[:MOST].count()


def _values(place: str, length: int) -> list[Any]:
    try:
        return decode(place, length)[1]
    except NotFound as error:
        raise Http404(str(error.detail)) from None
