"""Caches of what is computed from a snapshot, valid until a part that they depend on changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Flag, auto
from typing import Any, TypeVar

Result = TypeVar("Result")


class Part(Flag):
    """What a snapshot is made of."""

    NODES = auto()
    PODS = auto()  # which pods are on which node
    AMOUNTS = auto()  # the requested amounts of the nodes
    OBJECTS = auto()  # storage and disruption budgets
    WATERMARKS = auto()


class Cache:
    """Results by key, valid while the parts ``depends`` do not change."""

    def __init__(self, depends: Part) -> None:
        self.depends = depends
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result cached under ``key``, or that of ``compute()``, which is then cached."""
        if key not in self._kept:
            self._kept[key] = compute()
        result: Result = self._kept[key]
        return result


class Caches:
    """The caches of one snapshot."""

    def __init__(self) -> None:
        self.memo = Cache(Part.NODES)
        self.related = Cache(Part.NODES | Part.OBJECTS)
        self.derived = Cache(Part.NODES | Part.WATERMARKS)
        self.recent = Cache(Part.NODES | Part.WATERMARKS | Part.PODS)
        self.hourly = Cache(Part.NODES | Part.PODS)

    def after(self, changed: Part) -> Caches:
        """The caches of a copy in which ``changed`` differs: empty where they depend on that, else shared."""
        other = object.__new__(Caches)
        for name, cache in vars(self).items():
            setattr(other, name, Cache(cache.depends) if cache.depends & changed else cache)
        return other
