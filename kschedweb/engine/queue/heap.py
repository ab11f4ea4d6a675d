"""A priority queue of items with keys, in an order that a plugin decides."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class _Entry(Generic[Item]):
    __slots__ = ("item", "key", "less", "live", "number")

    def __init__(self, key: str, item: Item, number: int, less: Callable[[Item, Item], bool]) -> None:
        self.key, self.item, self.number, self.less, self.live = key, item, number, less, True

    def __lt__(self, other: _Entry[Item]) -> bool:
        if self.less(self.item, other.item):
            return True
        # kube-scheduler's clock never gives two pods the same time. Here the one that came first goes first.
        return self.number < other.number and not self.less(other.item, self.item)


class Heap(Generic[Item]):
    """Gives the least item by ``less`` first; of equal items the one that was added first."""

    def __init__(self, less: Callable[[Item, Item], bool]) -> None:
        self._less = less
        self._heap: list[_Entry[Item]] = []
        # Removed entries stay in the heap until they come up: ``live`` is false for them.
        self._entries: dict[str, _Entry[Item]] = {}
        self._added = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Item]:
        """Yield all items, in the order in which they were added."""
        return (entry.item for entry in self._entries.values())

    def add_or_update(self, key: str, item: Item) -> None:
        """Put ``item`` in, in place of the item of that key. Call it again when the order of the item changed."""
        old_entry = self._entries.get(key)
        number = self._added
        if old_entry is not None:
            old_entry.live, number = False, old_entry.number
        self._added += 1
        entry = self._entries[key] = _Entry(key, item, number, self._less)
        heapq.heappush(self._heap, entry)

    def get(self, key: str) -> Item | None:
        entry = self._entries.get(key)
        return entry.item if entry is not None else None

    def remove(self, key: str) -> Item | None:
        """Take the item of ``key`` out; returns ``None`` if there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        entry.live = False
        return entry.item

    def peek(self) -> Item | None:
        """Return the first item, which stays in."""
        while self._heap and not self._heap[0].live:
            heapq.heappop(self._heap)
        return self._heap[0].item if self._heap else None

    def pop(self) -> Item | None:
        """Take the first item out; returns ``None`` if there is none."""
        if self.peek() is None:
            return None
        entry = heapq.heappop(self._heap)
        del self._entries[entry.key]
        return entry.item
