"""Small columnar tools: arrays that grow, values as codes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
# Which nodes to look at: all of them as a slice, or some by their positions.
Rows = slice | NDArray[np.intp]
ALL = slice(None)

Value = TypeVar("Value", bound=Hashable)


class LabelColumn:
    """One label over all nodes: ``codes[node]`` indexes ``values``; -1 where the node has no such label.

    A table made by ``table`` has one entry more than there are values; its last one, reached by code -1, is for
    nodes without the label.
    """

    def __init__(self, cells: Iterable[str | None]) -> None:
        known: dict[str, int] = {}
        self.codes: Codes = np.array(
            [-1 if cell is None else known.setdefault(cell, len(known)) for cell in cells], dtype=np.int32
        )
        self.values = list(known)

    def table(self, test: Callable[[str | None], bool]) -> Mask:
        return np.array([test(value) for value in [*self.values, None]], dtype=np.bool_)

    def mask(self, test: Callable[[str | None], bool]) -> Mask:
        """Which nodes pass ``test`` on their label's value (``None``: no label)."""
        return self.table(test)[self.codes]

    @property
    def present(self) -> Mask:
        return self.codes >= 0


def grown(array: NDArray[np.int64], columns: int) -> NDArray[np.int64]:
    """``array`` with zero columns appended until it has ``columns`` of them."""
    wider = np.zeros((array.shape[0], columns), dtype=np.int64)
    wider[:, : array.shape[1]] = array
    return wider
