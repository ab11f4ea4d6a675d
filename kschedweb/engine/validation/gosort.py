"""The order in which Go's sort.Slice leaves a slice.

The sort is not stable, but it is deterministic: the order of equal elements follows from the steps of its
pattern-defeating quicksort. The comparison may even contradict itself, as one that reads the clock does.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from dataclasses import field
from typing import Generic, TypeVar

from kschedweb.engine.values import dataclass

Item = TypeVar("Item")
# Up to SHORT items are sorted by insertion; from LONG items on, pivots are chosen with more care.
SHORT, LONG = 12, 50
# `maxSteps` of `partialInsertionSort_func`.
STEPS = 5
# Numbers of swaps while a pivot was chosen: no swap means rising items, all possible swaps falling ones.
RISING, FALLING, UNKNOWN = 0, 12, -1
# Keeps the random numbers of `xorshift` to 64 bits.
WORD = 2**64 - 1


def sort_slice(items: MutableSequence[Item], less: Callable[[Item, Item], bool]) -> None:
    """Sort ``items`` in place, as `pdqsort_func` does."""
    _Sort(items, less).quick_sort(0, len(items), len(items).bit_length())


@dataclass(slots=True)
class _Sort(Generic[Item]):
    items: MutableSequence[Item]
    precedes: Callable[[Item, Item], bool]
    swaps: int = field(default=0)

    def less(self, first: int, other: int) -> bool:
        return self.precedes(self.items[first], self.items[other])

    def swap(self, first: int, other: int) -> None:
        self.items[first], self.items[other] = self.items[other], self.items[first]

    def quick_sort(self, low: int, high: int, patience: int) -> None:
        """Sort [low, high). After ``patience`` bad pivots heap sort takes over."""
        balanced = untouched = True
        while high - low > SHORT:
            if patience == 0:
                self.heap_sort(low, high)
                return
            if not balanced:
                self.break_patterns(low, high)
                patience -= 1
            pivot, pattern = self.choose_pivot(low, high)
            if pattern == FALLING:
                self.items[low:high] = list(reversed(self.items[low:high]))
                # The pivot moves with the reversed items.
                pivot, pattern = high - 1 - (pivot - low), RISING
            if balanced and untouched and pattern == RISING and self.nearly_sorted(low, high):
                return
            if low > 0 and not self.less(low - 1, pivot):
                low = self.skip_equal(low, high, pivot)
                continue
            middle, untouched = self.partition(low, high, pivot)
            left_size, right = middle - low, high - middle
            balanced = min(left_size, right) >= (high - low) // 8
            if left_size < right:
                self.quick_sort(low, middle, patience)
                low = middle + 1
            else:
                self.quick_sort(middle + 1, high, patience)
                high = middle
        self.insertion_sort(low, high)

    def insertion_sort(self, low: int, high: int) -> None:
        for start in range(low + 1, high):
            place = start
            while place > low and self.less(place, place - 1):
                self.swap(place, place - 1)
                place -= 1

    def heap_sort(self, low: int, high: int) -> None:
        size = high - low
        for root in range((size - 1) // 2, -1, -1):
            self.sift_down(root, size, low)
        for last in range(size - 1, -1, -1):
            self.swap(low, low + last)
            self.sift_down(0, last, low)

    def sift_down(self, root: int, size: int, first: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def partition(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        """Partition around the pivot. Return its position, and whether the items were partitioned already."""
        self.swap(low, pivot)
        left_index, right = low + 1, high - 1
        moved = False
        while True:
            while left_index <= right and self.less(left_index, low):
                left_index += 1
            while left_index <= right and not self.less(right, low):
                right -= 1
            if left_index > right:
                break
            self.swap(left_index, right)
            left_index, right, moved = left_index + 1, right - 1, True
        self.swap(right, low)
        return right, not moved

    def skip_equal(self, low: int, high: int, pivot: int) -> int:
        """Move the items equal to the pivot to the front, where no item is less. Return where the rest begins."""
        self.swap(low, pivot)
        left_index, right = low + 1, high - 1
        while True:
            while left_index <= right and not self.less(low, left_index):
                left_index += 1
            while left_index <= right and self.less(low, right):
                right -= 1
            if left_index > right:
                return left_index
            self.swap(left_index, right)
            left_index, right = left_index + 1, right - 1

    def nearly_sorted(self, low: int, high: int) -> bool:
        """Swap a few items that are out of order. Return False if there are too many of them."""
        place = low + 1
        for _ in range(STEPS):
            while place < high and not self.less(place, place - 1):
                place += 1
            if place == high:
                return True
            if high - low < LONG:
                return False
            self.swap(place, place - 1)
            if place - low >= 2:
                back = place - 1
                while back >= 1 and self.less(back, back - 1):
                    self.swap(back, back - 1)
                    back -= 1
            if high - place >= 2:
                ahead = place + 1
                while ahead < high and self.less(ahead, ahead - 1):
                    self.swap(ahead, ahead - 1)
                    ahead += 1
        return False

    def break_patterns(self, low: int, high: int) -> None:
        """Swap three items in the middle with pseudo-random ones, as `breakPatterns_func` does."""
        size = high - low
        random, bits = size, (1 << size.bit_length()) - 1
        middle = low + size // 4 * 2
        for place in range(middle - 1, middle + 2):
            random ^= random << 13 & WORD
            random ^= random >> 7
            random ^= random << 17 & WORD
            other = random & bits
            self.swap(place, low + (other - size if other >= size else other))

    def choose_pivot(self, low: int, high: int) -> tuple[int, int]:
        """Return the position of the pivot, and whether the items seem to rise or fall."""
        size = high - low
        self.swaps = 0
        places = [low + size // 4 * quarter for quarter in (1, 2, 3)]
        if size >= LONG:
            places = [self.choose_median(place - 1, place, place + 1) for place in places]
        pivot = self.choose_median(*places)
        return pivot, self.swaps if self.swaps in (RISING, FALLING) else UNKNOWN

    def choose_median(self, first: int, second: int, third: int) -> int:
        first, second = self.order_pair(first, second)
        second, third = self.order_pair(second, third)
        first, second = self.order_pair(first, second)
        return second

    def order_pair(self, first: int, other: int) -> tuple[int, int]:
        if self.less(other, first):
            self.swaps += 1
            return other, first
        return first, other
