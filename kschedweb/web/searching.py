"""The search, with results in groups, the best first. Apps register their groups in ``ready``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

from django.db.models import Case, IntegerField, Q, Value, When
from django.urls import reverse
from django.utils.text import slugify

from kschedweb.web import fuzzy
from kschedweb.web.languages import in_english

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

PER_GROUP = 8
# Rows that fit by their letters alone.
MOST_BY_LETTERS = 200


@dataclass(frozen=True)
class SearchHit:
    """A result: a page, or an action with ``post``, ``copies`` or ``fills`` (see actions.py)."""

    label: str
    address: str
    icon: str
    note: str = ""
    keywords: str = ""
    post: tuple[tuple[str, str], ...] = ()
    copies: bool = False
    fills: str = ""


class SearchRows(Sequence[SearchHit]):
    """Results in the database. Only requested ones are read; the others are counted."""

    def __init__(self, rows: QuerySet[Any, Any], make: Callable[[Any], SearchHit]) -> None:
        self.rows, self.make = rows, make
        self._count: int | None = None

    def __len__(self) -> int:
        if self._count is None:
            self._count = self.rows.count()
        return self._count

    @overload
    def __getitem__(self, at: int) -> SearchHit: ...
    @overload
    def __getitem__(self, at: slice) -> list[SearchHit]: ...
    def __getitem__(self, at: int | slice) -> SearchHit | list[SearchHit]:
        if isinstance(at, int):
            return self.make(self.rows[at])
        return [self.make(row) for row in self.rows[at]]


# Takes the request and the words, and returns results in their order.
Finder = Callable[["HttpRequest", str], Sequence[SearchHit]]


@dataclass(frozen=True)
class SearchGroup:
    title: str
    place: int
    find: Finder

    @property
    def key(self) -> str:
        """The name of the group in addresses, the same in every language."""
        return slugify(in_english(self.title))


@dataclass(frozen=True)
class GroupResults:
    """The first results of a group, and how many there are."""

    group: SearchGroup
    hits: Sequence[SearchHit]
    total: int


_groups: list[SearchGroup] = []


def register_group(title: str, place: int, find: Finder) -> None:
    """Register the group ``title`` with the results of ``find``; ``place`` is its position among equally good ones."""
    _groups.append(SearchGroup(title, place, find))
    _groups.sort(key=attrgetter("place"))


def group_named(key: str) -> SearchGroup | None:
    return next((group for group in _groups if group.key == key), None)


def page_hit(label: str, icon: str, name: str, *args: str, note: str = "") -> SearchHit:
    """Return a result that links to the page ``name`` with ``args``."""
    return SearchHit(label, reverse(name, args=args), icon, note)


def fitting_hits(words: str, hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Return those of ``hits`` whose label or keywords fit ``words``, the best first."""
    if not words:
        return list(hits)
    rated = []
    for place, hit in enumerate(hits):
        rating = _rate_hit(words, hit)
        if rating is not None:
            rated.append((rating, place, hit))
    return [hit for _, _, hit in sorted(rated, key=lambda rated_hit: rated_hit[:2])]


def rows_fitting(
    rows: QuerySet[Any, Any], field: str, words: str, make: Callable[[Any], SearchHit]
) -> Sequence[SearchHit]:
    """Return the rows whose ``field`` contains ``words``, those that begin with them first.

    If there are none, return those that have its letters in their order, whether words are apart or not.
    """
    holding = rows.filter(**{f"{field}__icontains": words})
    begins = Case(
        When(Q(**{f"{field}__istartswith": words}), then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    hits = SearchRows(holding.order_by(begins, *rows.query.order_by or rows.model._meta.ordering), make)
    joined = "".join(words.split())
    if len(hits) or not 1 < len(joined) <= fuzzy.LONGEST:
        return hits
    near = [make(row) for row in rows.filter(**{f"{field}__iregex": fuzzy.letters_regex(joined)})[:MOST_BY_LETTERS]]
    return fitting_hits(words, near)


def search_groups(request: HttpRequest, words: str) -> list[GroupResults]:
    """Return the results for ``words`` in groups that are not empty, the group with the best result first."""
    rated_groups = []
    for group in _groups:
        hits = group.find(request, words)
        first = hits[:PER_GROUP]
        if first:
            rating = _rate_hit(words, first[0]) or (fuzzy.LETTERS, 0, 0)
            rated_groups.append((rating[0], GroupResults(group, first, len(hits))))
    return [entry for _, entry in sorted(rated_groups, key=lambda entry: entry[0])]


def _rate_hit(words: str, hit: SearchHit) -> fuzzy.Quality | None:
    """Rate how well ``words`` fit a result. Keywords never count more than the label."""
    rating = fuzzy.rate_fit(words, hit.label)
    also = f"{in_english(hit.label)} {hit.keywords}".strip()
    if rating is None and also != hit.label:
        rating = fuzzy.rate_fit(words, also)
        return rating and (max(rating[0], fuzzy.PART_BEGINS), *rating[1:])
    return rating
