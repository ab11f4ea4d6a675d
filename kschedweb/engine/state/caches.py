"""Caches of values computed from a snapshot; they stay valid until a part that they depend on changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Flag, auto
from typing import Any, TypeVar

Result = TypeVar("Result")


class SnapshotPart(Flag):
    """A part of a snapshot that caches may depend on."""

    NODES = auto()
    # Which pods are on which node.
    PODS = auto()
    # The nodes' requested amounts.
    AMOUNTS = auto()
    # Storage objects and PodDisruptionBudgets.
    OBJECTS = auto()
    WATERMARKS = auto()


class Cache:
    """Results by key, valid while the parts in ``depends`` do not change."""

    def __init__(self, depends: SnapshotPart) -> None:
        self.depends = depends
        self._results: dict[Hashable, Any] = {}

    def get_or_compute(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result cached under ``key``, or that of ``compute()``, which is then cached."""
        if key not in self._results:
            self._results[key] = compute()
        result: Result = self._results[key]
        return result


class Caches:
    """The caches of one snapshot."""

    def __init__(self) -> None:
        self.memo = Cache(SnapshotPart.NODES)
        self.related = Cache(SnapshotPart.NODES | SnapshotPart.OBJECTS)
        self.derived = Cache(SnapshotPart.NODES | SnapshotPart.WATERMARKS)
        self.recent = Cache(SnapshotPart.NODES | SnapshotPart.WATERMARKS | SnapshotPart.PODS)
        self.hourly = Cache(SnapshotPart.NODES | SnapshotPart.PODS)

    def copy_after_change(self, changed: SnapshotPart) -> Caches:
        """Return caches for a copy in which ``changed`` differs: empty ones where they depend on it, else shared."""
        other = object.__new__(Caches)
        for name, cache in vars(self).items():
            setattr(other, name, Cache(cache.depends) if cache.depends & changed else cache)
        return other
