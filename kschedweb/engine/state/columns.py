"""Tools for columns: growing arrays, and values encoded as codes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
# A choice of nodes: all of them as a slice, or some by position.
Rows = slice | NDArray[np.intp]
ALL = slice(None)

# glibc returns freed memory to the system and asks for it again with the next array, until a large block has been
# freed once. This is such a block; its pages are never touched.
np.empty(31 << 20, dtype=np.int8)

Value = TypeVar("Value", bound=Hashable)
Number = TypeVar("Number", bound=np.generic)


class LabelColumn:
    """One label over all nodes.

    A table that ``build_table`` makes has one entry for each value, and a last one for nodes without the label, which
    code -1 reaches.
    """

    def __init__(self, cells: Iterable[str | None]) -> None:
        code_by_value: dict[str, int] = {}
        # intp[nodes]: the index in `values`, -1 for a node without the label.
        self.codes: NDArray[np.intp] = np.array(
            [-1 if cell is None else code_by_value.setdefault(cell, len(code_by_value)) for cell in cells],
            dtype=np.intp,
        )
        self.values = list(code_by_value)
        self.present: Mask = self.codes >= 0
        self._code_by_value = code_by_value
        self._complete = bool(self.present.all())
        # For a label such as the hostname, the table itself is the result of `at_nodes`.
        self._unique = self._complete and len(code_by_value) == len(self.codes)

    def at_nodes(self, table: NDArray[Number], missing: Number | int) -> NDArray[Number]:
        """Return ``table[value]`` for each node, ``missing`` without the label. Do not change the result."""
        if self._unique:
            return table
        return table[self.codes] if self._complete else np.append(table, missing).astype(table.dtype)[self.codes]

    def match_values(self, values: Iterable[str]) -> Mask:
        """Return the mask of the nodes whose value is one of ``values``."""
        value_codes = [self._code_by_value[value] for value in values if value in self._code_by_value]
        # A comparison is much faster than `isin`, and one value is the common case.
        return self.codes == value_codes[0] if len(value_codes) == 1 else np.isin(self.codes, value_codes)

    def build_table(self, test: Callable[[str | None], bool]) -> Mask:
        return np.array([test(value) for value in [*self.values, None]], dtype=np.bool_)

    def build_mask(self, test: Callable[[str | None], bool]) -> Mask:
        """Return the mask of the nodes whose value passes ``test`` (``None`` for no label)."""
        return self.build_table(test)[self.codes]


def pad_rows(array: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return ``array`` with rows of zeros appended, ``rows`` in all."""
    taller = np.zeros((rows, array.shape[1]), dtype=np.int64)
    taller[: array.shape[0]] = array
    return taller


def unique_inverse(values: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Return the sorted distinct ``values`` (none negative), and the index of each value among them."""
    # Counting needs an array up to the highest value, but no sort.
    if values.max(initial=0) >= 1 << 16:
        kinds, places = np.unique(values, return_inverse=True)
        return kinds, places
    occurs = np.bincount(values) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]
