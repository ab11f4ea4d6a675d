"""Lists whose rows are made on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

Row = TypeVar("Row")


class LazyRows(Sequence[Row], ABC):
    """A list whose rows are made when they are read, so that a page makes only its own rows."""

    # In order, the records from which :meth:`row` makes rows.
    rows: Sequence[Any]

    @abstractmethod
    # Returns the row of a record, which is an entry of ``rows``.
    def row(self, record: Any) -> Row: ...

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        return (
            [self.row(record) for record in self.rows[place]]
            if isinstance(place, slice)
            else self.row(self.rows[place])
        )


def sort_rows(rows: Sequence[Row], key: Callable[[Row], Any], *, down: bool) -> list[Row]:
    """Return ``rows`` sorted by ``key``, descending with ``down``; rows with ``None`` or "" come last in either
    case."""
    keyed = [(key(row), row) for row in rows]
    with_key = sorted((pair for pair in keyed if pair[0] not in (None, "")), key=lambda pair: pair[0], reverse=down)
    return [row for _, row in with_key] + [row for value, row in keyed if value in (None, "")]
