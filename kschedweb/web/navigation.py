"""The navigation: the pages of the rail in groups, the tabs within them, and the choices of the bar on each page.

Apps register their pages in ``ready``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TypedDict

from django.urls import reverse
from django.utils.translation import gettext_noop

# The action that every person of the site may do.
VIEW = "view"


class RailGroup(StrEnum):
    """A group of the rail by its English title, in the order of the rail. ACCOUNT is a person's menu in the bar."""

    CLUSTER = gettext_noop("Cluster")
    POLICIES = gettext_noop("Policies")
    WHAT_IF = gettext_noop("What-if")
    PRODUCTION = gettext_noop("In production")
    ADMIN = gettext_noop("Admin")
    ACCOUNT = gettext_noop("Account")


RAIL = tuple(group for group in RailGroup if group is not RailGroup.ACCOUNT)


class BarChoice(StrEnum):
    """A parameter of the address that chooses what a page shows. The bar offers all but the snapshot and the moment."""

    CLUSTER = "cluster"
    NAMESPACE = "namespace"
    POLICY = "policy"
    # A snapshot, or a moment as below.
    SNAPSHOT = "snapshot"
    # The cluster as of a moment, if it was recorded.
    MOMENT = "at"


@dataclass(frozen=True)
class Entry:
    """A page of the navigation."""

    label: str
    icon: str
    name: str
    # The position in its group, or among the tabs of its page.
    place: int
    # Further URL names for which the entry is open.
    family: frozenset[str] = frozenset()
    # Beginnings of URL names: the stem "run" covers run, runs and run-pods.
    stems: tuple[str, ...] = ()
    # The action that a user must be allowed to do to see it.
    action: str = VIEW
    # Whether the site has the page at all.
    is_available: Callable[[], bool] = lambda: True

    def covers(self, name: str) -> bool:
        stem = name.partition("-")[0].removesuffix("s")
        return name == self.name or name in self.family or name in _families[self.name] or stem in self.stems

    def contains_page(self, name: str) -> bool:
        """Return whether the entry or one of its tabs covers the page ``name``."""
        return self.covers(name) or any(tab.covers(name) for tab in _tabs[self.name])


class NavigationLink(TypedDict):
    label: str
    address: str
    open: bool


class RailLink(NavigationLink):
    icon: str
    name: str


_groups: dict[RailGroup, list[Entry]] = defaultdict(list)
_tabs: dict[str, list[Entry]] = defaultdict(list)
_families: dict[str, set[str]] = defaultdict(set)
_choices: dict[str, frozenset[BarChoice]] = {}


def register_entries(group: RailGroup, *entries: Entry) -> None:
    _groups[group] = sorted([*_groups[group], *entries], key=attrgetter("place"))


def register_tabs(entry: str, *tabs: Entry) -> None:
    """Add ``tabs`` to the page of the rail named ``entry``."""
    _tabs[entry] = sorted([*_tabs[entry], *tabs], key=attrgetter("place"))


def add_to_family(entry: str, *names: str) -> None:
    """Add URL ``names`` for which the page, or the tab, ``entry`` is open."""
    _families[entry].update(names)


def declare_choices(choices: tuple[BarChoice, ...], *names: str) -> None:
    """Declare that the pages ``names`` depend on ``choices``."""
    _choices.update(dict.fromkeys(names, frozenset(choices)))


def choices_of(name: str) -> frozenset[BarChoice]:
    return _choices.get(name, frozenset())


def list_entries(group: RailGroup, may: Callable[[str], bool], current: str, query: str) -> list[RailLink]:
    """Return the entries of a group that a user ``may`` open.

    The addresses of pages that depend on the cluster in the bar get ``query``.
    """
    return [
        {
            "label": entry.label,
            "icon": entry.icon,
            "name": entry.name,
            "open": entry.contains_page(current),
            "address": _entry_address(entry, query),
        }
        for entry in _groups[group]
        if may(entry.action) and entry.is_available()
    ]


def list_tabs(current: str, query: str) -> list[NavigationLink]:
    """Return the tabs that the page ``current`` belongs to, with their addresses; [] if there are none."""
    open_tabs = next(
        (group_tabs for group_tabs in _tabs.values() if any(tab.covers(current) for tab in group_tabs)), []
    )
    return [
        {"label": tab.label, "address": _entry_address(tab, query), "open": tab.covers(current)} for tab in open_tabs
    ]


def _entry_address(entry: Entry, query: str) -> str:
    return reverse(entry.name) + (query if BarChoice.CLUSTER in choices_of(entry.name) else "")
