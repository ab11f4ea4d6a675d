"""The navigation rail: its pages, and which one is open. Apps register their pages in ``ready``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.urls import reverse

VIEW = "view"  # the action that every person of the site may do

# the sections of the rail, and the tabs of the playground
MAIN, ACCOUNT, PLAYGROUND = "main", "account", "playground"


@dataclass(frozen=True)
class Entry:
    """A page of the rail; ``place`` is its position in its section.

    It is open for its own URL name, those in ``family``, and those of ``stems``: the stem ``run`` covers run, runs and
    run-pods. It is shown to users who may do ``action``.
    """

    label: str
    icon: str
    name: str
    place: int
    family: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    action: str = VIEW

    def holds(self, name: str) -> bool:
        stem = name.partition("-")[0].removesuffix("s")
        return name == self.name or name in self.family or name in _families[self.name] or stem in self.stems


_sections: dict[str, list[Entry]] = defaultdict(list)
_families: dict[str, set[str]] = defaultdict(set)
_scoped: set[str] = set()


def register(section: str, *entries: Entry) -> None:
    _sections[section] = sorted([*_sections[section], *entries], key=attrgetter("place"))


def belong(entry: str, *names: str) -> None:
    """Add URL ``names`` for which the page ``entry`` is open."""
    _families[entry].update(names)


def scoped(*names: str) -> None:
    """Declare pages that are about one cluster, which their addresses keep."""
    _scoped.update(names)


def is_scoped(name: str) -> bool:
    return name in _scoped


def entries(section: str, may: Callable[[str], bool], current: str, query: str) -> list[dict[str, Any]]:
    """The entries of a section that a user ``may`` open, with their addresses."""
    return [
        {
            "label": entry.label,
            "icon": entry.icon,
            "name": entry.name,
            "address": reverse(entry.name) + (query if entry.name in _scoped else ""),
            "open": entry.holds(current),
        }
        for entry in _sections[section]
        if may(entry.action)
    ]
