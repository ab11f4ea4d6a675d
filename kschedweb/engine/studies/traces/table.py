"""Read CSV with a header row by row; rows that cannot be used are reported and left out."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping

from kschedweb.engine.studies.document.limits import MOST_COLUMNS, MOST_NOTES
from kschedweb.engine.studies.traces.text import TraceError

Row = Mapping[str, str]
# Up to here, every whole number is exact as a float.
LARGEST = 2.0**53


class RowError(ValueError):
    """A row that cannot be used; the message names the cell and the reason."""


class LineProblems:
    """The problems of lines of the file ``name``: the first ones one by one, then the number of others.

    Each is added to ``notes`` as a sentence, and to ``located``.
    """

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes
        # Line and text of each problem; line 0 for the whole file.
        self.located: list[tuple[int, str]] = []
        self.usable_count = self.unusable_count = 0
        # Number of lines whose time is before that of an earlier line, and the first such line.
        self._backwards_count = self._first_backwards = 0
        self._latest = -math.inf

    def report_problem(self, text: str, line: int = 0) -> None:
        self.located.append((line, text))
        self.notes.append(f"{self.name}, line {line}: {text}" if line else f"{self.name}: {text}")

    def leave_out(self, line: int, why: str) -> None:
        """Count a line that cannot be used; raise TraceError if most lines cannot be used."""
        self.unusable_count += 1
        if self.unusable_count <= MOST_NOTES:
            self.report_problem(f"is left out: {why}", line)
        # A file of another kind is given up early, instead of being read to its end.
        if self.unusable_count > 1000 and self.unusable_count > self.usable_count:
            counts = f"{self.unusable_count:,} lines cannot be used, and only {self.usable_count:,} can"
            raise TraceError(f"line {line}: {counts}; last: {why}")

    def count_line(self, line: int, time: float) -> None:
        """Count a usable line with its ``time``."""
        self.usable_count += 1
        if time < self._latest:
            self._backwards_count += 1
            self._first_backwards = self._first_backwards or line
        self._latest = max(self._latest, time)

    def conclude(self) -> None:
        """Report the number of other problems; raise TraceError if no line can be used."""
        if self.unusable_count > MOST_NOTES:
            self.report_problem(f"{self.unusable_count - MOST_NOTES:,} more lines are left out")
        if self._backwards_count:
            first = self._first_backwards
            self.report_problem(
                f"times run backwards {self._backwards_count:,} times, first in line {first}: put in order"
            )
        if not self.usable_count:
            last = f"; {self.notes[-1]}" if self.unusable_count else ""
            raise TraceError(f"there is no line that can be used{last}")


def read_rows(lines: Iterable[str], needed: Iterable[str], line_problems: LineProblems) -> Iterator[tuple[int, Row]]:
    """Yield line and row of each row with a cell for every name; raise TraceError if a needed name is missing."""
    reader = csv.reader(lines)
    try:
        names = [name.strip() for name in next(reader, [])]
        if len(names) > MOST_COLUMNS:
            raise TraceError(f"line 1: has {len(names):,} columns; at most {MOST_COLUMNS:,} are taken")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise TraceError(f"line 1: has the column {twice[:60]!r} twice")
        missing = [name for name in needed if name not in names]
        if missing:
            columns = ", ".join(name[:60] for name in names[:30])
            raise TraceError(f"line 1: has no column {', '.join(missing)}; columns are {columns}")
        for cells in reader:
            if len(cells) == len(names):
                yield reader.line_num, dict(zip(names, cells, strict=True))
            elif cells:
                line_problems.leave_out(reader.line_num, f"has {len(cells):,} cells, the first line {len(names):,}")
    except csv.Error as error:
        raise TraceError(f"line {reader.line_num}: {error}") from None


def read_amount(row: Row, name: str, *, factor: float = 1.0) -> float | None:
    """Return the number in a cell times ``factor``, at least 0; ``None`` for an empty cell. Raise RowError."""
    text = row[name].strip()
    if not text:
        return None
    try:
        number = float(text) * factor
    except ValueError:
        raise RowError(f"{name} is {text[:40]!r}, which is no number") from None
    if not math.isfinite(number) or number > LARGEST:
        raise RowError(f"{name} is {text[:40]}, which is not finite, or too large")
    if number < 0:
        raise RowError(f"{name} is {text[:40]}, which is negative")
    return number


def read_required(row: Row, name: str) -> float:
    """Return the number in a cell; raise RowError if it is empty or invalid."""
    number = read_amount(row, name)
    if number is None:
        raise RowError(f"{name} is empty")
    return number
