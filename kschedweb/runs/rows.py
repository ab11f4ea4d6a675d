"""A list whose rows are made when somebody looks at them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar, overload

Row = TypeVar("Row")


class Rows(Sequence[Row], ABC):
    """``rows`` holds, in the order of the list, what :meth:`row` makes a row of."""

    rows: Sequence[Any]

    @abstractmethod
    def row(self, of: Any) -> Row: ...

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        return [self.row(one) for one in self.rows[place]] if isinstance(place, slice) else self.row(self.rows[place])
