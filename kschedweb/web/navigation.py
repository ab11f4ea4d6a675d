"""The rail: which pages there are and which one is open. Apps register theirs when they are ready."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.urls import reverse

VIEW = "view"  # the action that every person of the site may do

# The sections of the rail, and the pages of the playground, which are tabs of each of its lists.
MAIN, ACCOUNT, PLAYGROUND = "main", "account", "playground"


@dataclass(frozen=True)
class Entry:
    """A page of the rail, at its ``place`` among the others of its section.

    It counts as open under the URL names of ``family``, its own and those that begin with one of ``stems``: ``run``
    stands for run, runs and run-pods. Who may not do ``action`` does not see it.
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
    """Have the page ``entry`` count as open under further URL ``names``."""
    _families[entry].update(names)


def scoped(*names: str) -> None:
    """Say that these pages are about one cluster: they keep the chosen one in their address."""
    _scoped.update(names)


def is_scoped(name: str) -> bool:
    return name in _scoped


def entries(section: str, may: Callable[[str], bool], current: str, query: str) -> list[dict[str, Any]]:
    """The entries of a section that a person ``may`` open, with their addresses."""
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
