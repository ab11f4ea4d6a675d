"""The navigation: entries of the rail in groups, tabs within an entry, views within a tab, and the choices of the bar.

``dashboard.rail`` declares the entries; apps declare in ``ready`` the choices that their pages depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypedDict

from django.urls import reverse
from django.utils.translation import gettext_noop

# The action that every person of the site may do.
VIEW = "view"


class RailGroup(StrEnum):
    """A group of the rail by its English title, in the order of the rail.

    SETTINGS is the gear below the groups, ACCOUNT a person's menu in the bar.
    """

    SEE = gettext_noop("See")
    TRY = gettext_noop("Try")
    IMPROVE = gettext_noop("Improve")
    RUN = gettext_noop("Run")
    SETTINGS = gettext_noop("Settings")
    ACCOUNT = gettext_noop("Account")


# The groups with a title.
RAIL = (RailGroup.SEE, RailGroup.TRY, RailGroup.IMPROVE, RailGroup.RUN)


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
    """A page of the navigation, or a group of pages below one word."""

    label: str
    # The URL name of its page; "" to open the first of ``tabs`` that the user may open.
    name: str = ""
    # Names of icons belong to entries of the rail, each to one.
    icon: str = ""
    # Tabs of an entry, or views of a tab.
    tabs: tuple[Entry, ...] = ()
    # Further URL names that show its tab, such as the page of an answer.
    family: frozenset[str] = frozenset()
    # URL names of pages below it, which show no tabs, and beginnings of such names: the stem "run" covers run and
    # run-pods.
    details: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    # A parameter of the address that tells it from another entry of the same URL name.
    parameter: tuple[str, str] | None = None
    # True if its address contains the name of the cluster.
    is_in_cluster: bool = False
    # The action that a user must be allowed to do to see it.
    action: str = VIEW
    # The template of a number beside the label.
    badge: str = ""
    # Whether the site has the page at all.
    is_available: Callable[[], bool] = lambda: True

    def shows_tab(self, name: str) -> bool:
        """Return whether the page ``name`` shows this entry, or one of its tabs, as the open one."""
        return name == self.name or name in self.family or any(tab.shows_tab(name) for tab in self.tabs)

    def contains_page(self, name: str) -> bool:
        """Return whether the page ``name`` is this entry's, one of its tabs', or one below them."""
        stem = name.partition("-")[0].removesuffix("s")
        below = name in self.details or stem in self.stems
        return below or self.shows_tab(name) or any(tab.contains_page(name) for tab in self.tabs)


@dataclass(frozen=True)
class Visit:
    """A page as somebody opens it."""

    # Whether the user may do an action.
    may: Callable[[str], bool]
    # The URL name and the parameters of the address.
    page: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    # The name of the chosen cluster, and the query that links to pages of clusters get.
    cluster: str = ""
    query: str = ""

    def with_query(self, query: str) -> Visit:
        return replace(self, query=query)


class NavigationLink(TypedDict):
    label: str
    address: str
    open: bool
    badge: str


class RailLink(NavigationLink):
    icon: str


_groups: dict[RailGroup, tuple[Entry, ...]] = {}
_choices: dict[str, frozenset[BarChoice]] = {}


def declare_entries(group: RailGroup, *entries: Entry) -> None:
    _groups[group] = entries


def declare_choices(choices: tuple[BarChoice, ...], *names: str) -> None:
    """Declare that the pages ``names`` depend on ``choices``."""
    _choices.update(dict.fromkeys(names, frozenset(choices)))


def choices_of(name: str) -> frozenset[BarChoice]:
    return _choices.get(name, frozenset())


def list_entries(group: RailGroup, visit: Visit) -> list[RailLink]:
    """Return the entries of a group that the user may open."""
    return [
        {**_make_link(entry, visit, is_open=entry.contains_page(visit.page)), "icon": entry.icon}
        for entry in _visible(_groups[group], visit)
    ]


def list_tabs(visit: Visit) -> list[NavigationLink]:
    """Return the tabs of the entry that the page belongs to; [] if it shows none."""
    entry = _find_entry(visit.page)
    return _list_siblings(entry, visit) if entry is not None else []


def list_views(visit: Visit) -> list[NavigationLink]:
    """Return the views of the tab that the page belongs to; [] if it shows none."""
    entry = _find_entry(visit.page)
    tab = _choose_open(entry.tabs, visit) if entry is not None else None
    return _list_siblings(tab, visit) if tab is not None else []


def list_pages(visit: Visit) -> Iterator[tuple[tuple[Entry, ...], NavigationLink]]:
    """Yield the pages that the user may open, each after the entry, tab and view that lead to it."""
    for entries in _groups.values():
        for path in _walk(entries, visit):
            yield path, _make_link(path[-1], visit, is_open=False)


def page_labels(visit: Visit) -> list[str]:
    """Return the labels of the open entry, tab and view; [] for a page that is none of them."""
    labels: list[str] = []
    entry = _find_entry(visit.page)
    while entry is not None and entry.shows_tab(visit.page):
        labels.append(str(entry.label))
        entry = _choose_open(entry.tabs, visit)
    return labels


def open_entry(page: str) -> Entry | None:
    """Return the entry of the rail that contains the page."""
    return _find_entry(page)


def _find_entry(page: str) -> Entry | None:
    every = (entry for entries in _groups.values() for entry in entries)
    return next((entry for entry in every if entry.contains_page(page)), None)


def _walk(entries: Iterable[Entry], visit: Visit) -> Iterator[tuple[Entry, ...]]:
    for entry in _visible(entries, visit):
        if entry.tabs:
            yield from ((entry, *path) for path in _walk(entry.tabs, visit))
        else:
            yield (entry,)


def _visible(entries: Iterable[Entry], visit: Visit) -> list[Entry]:
    return [
        entry
        for entry in entries
        if visit.may(entry.action)
        and entry.is_available()
        and (visit.cluster or not entry.is_in_cluster)
        and (not entry.tabs or _visible(entry.tabs, visit))
    ]


def _choose_open(entries: Iterable[Entry], visit: Visit) -> Entry | None:
    """Return the entry that the page shows; of several with one URL name the one whose parameter the address has."""
    candidates = [entry for entry in entries if entry.shows_tab(visit.page)]
    parameters = visit.parameters.items()
    with_parameter = [entry for entry in candidates if entry.parameter is not None and entry.parameter in parameters]
    without = [entry for entry in candidates if entry.parameter is None]
    return next(iter((*with_parameter, *without)), None)


def _list_siblings(parent: Entry, visit: Visit) -> list[NavigationLink]:
    chosen = _choose_open(parent.tabs, visit)
    if chosen is None:
        return []
    return [_make_link(entry, visit, is_open=entry is chosen) for entry in _visible(parent.tabs, visit)]


def _make_link(entry: Entry, visit: Visit, *, is_open: bool) -> NavigationLink:
    address = _entry_address(entry, visit)
    return {"label": entry.label, "address": address, "open": is_open, "badge": entry.badge}


def _entry_address(entry: Entry, visit: Visit) -> str:
    if entry.tabs:
        return _entry_address(_visible(entry.tabs, visit)[0], visit)
    if entry.is_in_cluster:
        return reverse(entry.name, args=[visit.cluster])
    query = visit.query if BarChoice.CLUSTER in choices_of(entry.name) else ""
    if entry.parameter is not None:
        query += f"{'&' if query else '?'}{'='.join(entry.parameter)}"
    return reverse(entry.name) + query
