"""Lists that grow do not move while somebody reads them: a bar tells how many rows are new, and shows them on a click.

A page of such a list has the place of its newest row (``newest_place``). At intervals parts/list_news.html requests the
same address with this place as ``news``, and the view answers with the bar alone.
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

from kschedweb.web.pagination import (
    PAGE_SIZE,
    as_far_as,
    decode_cursor,
    encode_cursor,
    keys_of,
    page_shown,
    place_of,
    rows_beyond,
)

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.web.pagination import CursorPage

PARAMETER = "news"
# Stands for the place if the list was empty.
NONE = "none"
# New rows that are counted; beyond this the bar says "or more".
MAX_COUNTED = 1000

View = Callable[..., "HttpResponseBase"]


class NewsRequested(Exception):
    """A request for the news of a list only: a number of rows, or words."""

    def __init__(self, count: int, words: str = "") -> None:
        super().__init__(words)
        self.count, self.words = count, words


def with_news(view: View) -> View:
    """Decorate a page with a list that reports new rows."""

    @wraps(view)
    def wrapped_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NewsRequested as news:
            if not news.count:
                return HttpResponse(status=204)
            count = (
                gettext("%(most)s or more") % {"most": f"{MAX_COUNTED:,}"}
                if news.count >= MAX_COUNTED
                else f"{news.count:,}"
            )
            return render(
                request, "parts/new_rows.html", {"words": news.words or gettext("%(count)s new") % {"count": count}}
            )

    return wrapped_view


def newest_place(request: HttpRequest, rows: QuerySet[Any], page_rows: list[Any]) -> str:
    """Return the place of the first of ``page_rows``, the beginning of ``rows``.

    Raises ``NewsRequested`` if the request is for the news.
    """
    place = request.GET.get(PARAMETER, "")
    if place:
        raise NewsRequested(_count_newer(rows, place))
    return encode_cursor(False, place_of(page_rows[0], keys_of(rows))) if page_rows else NONE


def growing_page(request: HttpRequest, rows: QuerySet[Any], *, indexed_rows: QuerySet[Any] | None = None) -> CursorPage:
    """Return ``page_shown``. The beginning of the list reports news, and ``top`` in the address hides newer rows."""
    top = request.GET.get("top", "")
    if top and top != NONE:
        keys = keys_of(rows)
        rows = rows.filter(as_far_as([key.reversed() for key in keys], _decode_values(top, len(keys))))
    page = page_shown(request, rows, indexed_rows=indexed_rows)
    if request.GET.get("cursor"):
        return page
    return replace(page, newest=top or newest_place(request, rows, page.rows))


def numbered_page(request: HttpRequest, rows: QuerySet[Any], size: int = PAGE_SIZE) -> Page[Any]:
    """Return the page that the address numbers. The first page of a list with the newest rows first reports news."""
    page = Paginator(rows, size).get_page(request.GET.get("page"))
    if page.number == 1 and keys_of(rows)[0].descending:
        page.newest = newest_place(request, rows, list(page.object_list))  # type: ignore[attr-defined]
    return page


def _count_newer(rows: QuerySet[Any], place: str) -> int:
    """Return how many of ``rows`` come before ``place`` in their order, at most ``MAX_COUNTED``."""
    if place == NONE:
        return rows[:MAX_COUNTED].count()
    keys = keys_of(rows)
    values = _decode_values(place, len(keys))
    back = [key.reversed() for key in keys]
    return rows.filter(rows_beyond(back, values)).order_by(*(key.order() for key in back))[:MAX_COUNTED].count()


def _decode_values(place: str, length: int) -> list[Any]:
    try:
        return decode_cursor(place, length)[1]
    except NotFound as error:
        raise Http404(str(error.detail)) from None
