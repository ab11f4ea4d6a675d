"""What was worked out of a snapshot, kept until one of the parts that it depends on is another."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Flag, auto
from typing import Any, TypeVar

Result = TypeVar("Result")


class Part(Flag):
    """What a snapshot is made of."""

    NODES = auto()
    PODS = auto()  # which pods are where
    AMOUNTS = auto()  # what is taken of the nodes
    OBJECTS = auto()  # storage and disruption budgets
    WATERMARKS = auto()


class Cache:
    """Answers by key, true for as long as the parts ``depends`` stay as they are."""

    def __init__(self, depends: Part) -> None:
        self.depends = depends
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``."""
        if key not in self._kept:
            self._kept[key] = compute()
        result: Result = self._kept[key]
        return result


class Caches:
    """Those of one snapshot."""

    def __init__(self) -> None:
        self.memo = Cache(Part.NODES)
        self.related = Cache(Part.NODES | Part.OBJECTS)
        self.derived = Cache(Part.NODES | Part.WATERMARKS)
        self.recent = Cache(Part.NODES | Part.WATERMARKS | Part.PODS)

    def after(self, changed: Part) -> Caches:
        """Those of a copy in which ``changed`` is another: what depends on that begins anew, the rest is shared."""
        other = object.__new__(Caches)
        for name, cache in vars(self).items():
            setattr(other, name, Cache(cache.depends) if cache.depends & changed else cache)
        return other
