"""A thread-safe LRU cache that makes each value once, however many threads need it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

from kschedweb.engine.patience import wait_for

Value = TypeVar("Value")


class LRU(Generic[Value]):
    """The ``size`` values used last; with ``weigh``, values of a total weight of ``size``.

    Threads wait for a value that is being made; other keys are not blocked.
    """

    def __init__(self, size: int, weigh: Callable[[Value], int] | None = None) -> None:
        self._values: LRUCache[Hashable, Value] = LRUCache(size, weigh)
        self._making: set[Hashable] = set()
        self._changed = Condition()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, made by ``make`` if needed; ``make`` must not get the same key.

        Raises Stopped if another thread makes it for longer than the caller may wait.
        """
        with self._changed:
            wait_for(self._changed, lambda: key not in self._making)
            if key in self._values:
                return self._values[key]
            self._making.add(key)
        try:
            value = make()
            self.put(key, value)
            return value
        finally:
            with self._changed:
                self._making.discard(key)
                self._changed.notify_all()

    def peek(self, key: Hashable) -> Value | None:
        """Return the value of ``key`` if it is cached, else ``None``."""
        with self._changed:
            return self._values.get(key)

    def cached_keys(self) -> list[Any]:
        """Return the keys of all cached values."""
        with self._changed:
            return list(self._values)

    def values(self) -> list[Value]:
        """Return all cached values."""
        with self._changed:
            return list(self._values.values())

    def put(self, key: Hashable, value: Value) -> None:
        with self._changed:
            self._values[key] = value

    def clear(self) -> None:
        with self._changed:
            self._values.clear()
