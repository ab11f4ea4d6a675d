"""The search, with results in groups. Apps register their groups in ``ready``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from django.urls import reverse

if TYPE_CHECKING:
    from django.http import HttpRequest

PER_GROUP = 8


@dataclass(frozen=True)
class SearchHit:
    label: str
    address: str
    icon: str
    note: str = ""


# (request, words) -> results, of which PER_GROUP are shown; case may matter
Finder = Callable[["HttpRequest", str], Iterable[SearchHit]]


@dataclass(frozen=True)
class SearchGroup:
    title: str
    place: int
    find: Finder


_groups: list[SearchGroup] = []


def register(title: str, place: int, find: Finder) -> None:
    """Register the group ``title`` with the results of ``find``; ``place`` is its position among the groups."""
    _groups.append(SearchGroup(title, place, find))
    _groups.sort(key=attrgetter("place"))


def link(label: str, icon: str, name: str, *args: str, note: str = "") -> SearchHit:
    """A result that links to the page ``name`` with ``args``."""
    return SearchHit(label, reverse(name, args=args), icon, note)


def search(request: HttpRequest, words: str) -> list[tuple[str, list[SearchHit]]]:
    """The results whose names contain ``words``, in groups that are not empty."""
    found = ((group.title, list(islice(group.find(request, words), PER_GROUP))) for group in _groups)
    return [(title, results) for title, results in found if results]
