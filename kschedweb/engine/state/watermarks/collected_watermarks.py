"""Watermarks over time, as columns and as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.table import HOURS, Figures, Watermarks
from kschedweb.engine.values import dataclass

# A week of five minutes.
MOST_TIMES = 2_016
# Values of all objects and times together, which bounds the memory that a text can take.
MOST_VALUES = 5_000_000
# Characters.
MOST_NAME = 400
# The largest value, in bytes an exbibyte.
LARGEST = 2.0**60
HEAD = ["figure", "object"]
NODE, WORKLOAD = "node", "workload"
SOURCE, UPDATED, CURVE = "source", "updated", "hours"
_FIGURE = re.compile(rf"({NODE}|{WORKLOAD})/({CPU}|{MEMORY})/([a-z0-9_]{{1,24}})")

# (resource, key).
Figure = tuple[str, str]


class CollectedError(ValueError):
    """A text cannot be read as figures; the message names the line and the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class CollectedWatermarks:
    """Figures at several times, NaN where a figure was not known."""

    # float64[times], seconds of the epoch, ascending.
    times: Floats
    # Percent of allocatable for the nodes of `last`: float64[times, nodes].
    nodes: Mapping[Figure, Floats]
    # Names of the workloads.
    owners: Sequence[str]
    # Cores and bytes per pod: float64[times, owners].
    workloads: Mapping[Figure, Floats]
    # The watermarks of the last time only; but its curves of the day are those known at the first time.
    last: Watermarks

    @classmethod
    def from_watermarks(cls, watermarks: Watermarks, at: float) -> CollectedWatermarks:
        """Return the figures of one time."""
        owners = list(watermarks.workloads)
        keys = dict.fromkeys(
            (resource, key)
            for figures in watermarks.workloads.values()
            for resource in figures
            for key in figures[resource]
        )
        workloads = {
            (resource, key): np.array(
                [[watermarks.workloads[name].get(resource, {}).get(key, math.nan) for name in owners]]
            )
            for resource, key in keys
        }
        nodes = {figure: column[None, :] for figure, column in watermarks.figures.items()}
        return cls(np.array([at]), nodes, owners, workloads, watermarks)

    @classmethod
    def from_columns(
        cls,
        times: Floats,
        nodes: Mapping[Figure, Floats],
        owners: Sequence[str],
        workloads: Mapping[Figure, Floats],
        last: Watermarks,
    ) -> CollectedWatermarks:
        """Return figures over time of the nodes of ``last``, whose own figures are replaced."""
        figures = {figure: values[-1] for figure, values in nodes.items()}
        last_figures = _WorkloadFigures(owners, {figure: values[-1] for figure, values in workloads.items()})
        return cls(times, nodes, owners, workloads, replace(last, figures=figures, workloads=last_figures))

    @property
    def names(self) -> Sequence[str]:
        return self.last.names

    def watermarks_at(self, place: int) -> Watermarks:
        """Return the watermarks at ``times[place]``; the age of the figures is that at the last time."""
        if place == len(self.times) - 1:
            return self.last
        figures = {figure: values[place] for figure, values in self.nodes.items()}
        workloads = _WorkloadFigures(self.owners, {figure: values[place] for figure, values in self.workloads.items()})
        return replace(self.last, figures=figures, workloads=workloads)

    def fill_gaps(self) -> CollectedWatermarks:
        """Return the same figures with gaps filled by the last known value."""
        nodes = {figure: fill_gaps(values) for figure, values in self.nodes.items()}
        workloads = {figure: fill_gaps(values) for figure, values in self.workloads.items()}
        return CollectedWatermarks.from_columns(self.times, nodes, self.owners, workloads, self.last)

    # The form as text.

    def to_lines(self) -> Iterator[str]:
        """Yield a line of times, then one for each figure of each object.

        ``from_lines`` reads the same numbers back.
        """
        yield ",".join([*HEAD, *map(_format_number, self.times.tolist())])
        yield f"{SOURCE},{self.last.source}"
        for name, time in zip(self.names, self.last.updated.tolist(), strict=True):
            yield f"{UPDATED},{name},{_format_number(time)}"
        for name, curve in self.last.curves.items():
            yield ",".join([CURVE, name, *map(_format_number, curve.tolist())])
        for kind, names, figures in ((NODE, self.names, self.nodes), (WORKLOAD, self.owners, self.workloads)):
            for (resource, key), values in figures.items():
                for name, row in zip(names, values.T.tolist(), strict=True):
                    yield ",".join([f"{kind}/{resource}/{key}", name, *map(_format_number, row)])

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> CollectedWatermarks:
        """Read the lines that ``to_lines`` wrote; raise CollectedError."""
        reading = _LineReader()
        for number, line in enumerate(lines, start=1):
            if line:
                try:
                    reading.read_cells(line.split(","))
                except CollectedError as error:
                    raise CollectedError(f"line {number}: {error}") from None
        return reading.build_collected()


@dataclass(slots=True)
class _LineReader:
    """The content of the lines read so far."""

    times: list[float] = field(default_factory=list)
    source: str = ""
    updated: dict[str, float] = field(default_factory=dict)
    # Figure -> object -> a value for each time.
    rows: dict[str, dict[str, Floats]] = field(default_factory=dict)
    curves: dict[str, Floats] = field(default_factory=dict)
    # The number of values so far.
    values: int = 0

    def read_cells(self, cells: list[str]) -> None:
        if not self.times:
            self._read_times(cells)
        elif cells[0] == SOURCE:
            self.source = _parse_name(cells[1:])
        elif cells[0] == UPDATED:
            name, (time,) = _parse_name(cells[1:2]), self._parse_numbers(cells[2:], 1)
            self.updated[name] = time
        elif cells[0] == CURVE:
            self._count_values(HOURS)
            self.curves[_parse_workload(cells[1:2])] = self._parse_numbers(cells[2:], HOURS)
        else:
            self._read_figure(cells)

    def _read_times(self, cells: list[str]) -> None:
        if cells[:2] != HEAD:
            raise CollectedError(f"must begin with {','.join(HEAD)}, then the times")
        if not 1 <= len(cells) - 2 <= MOST_TIMES:
            raise CollectedError(f"has {len(cells) - 2:,} times; 1 to {MOST_TIMES:,} are taken")
        times = self._parse_numbers(cells[2:], len(cells) - 2)
        if not (np.isfinite(times).all() and (np.diff(times) > 0.0).all()):
            raise CollectedError("the times must be seconds of the epoch, each later than the one before")
        self.times = times.tolist()

    def _read_figure(self, cells: list[str]) -> None:
        if not _FIGURE.fullmatch(cells[0]):
            raise CollectedError(f"{cells[0][:60]!r} is no figure, such as node/cpu/5m or workload/memory/1h")
        name = (_parse_workload if cells[0].startswith(WORKLOAD) else _parse_name)(cells[1:2])
        rows = self.rows.setdefault(cells[0], {})
        if name in rows:
            raise CollectedError(f"there is a line of {cells[0]} of {name} already")
        self._count_values(len(self.times))
        rows[name] = self._parse_numbers(cells[2:], len(self.times))

    def _count_values(self, values: int) -> None:
        self.values += values
        if self.values > MOST_VALUES:
            raise CollectedError(f"there are more than {MOST_VALUES:,} values")

    @staticmethod
    def _parse_numbers(cells: list[str], count: int) -> Floats:
        """Return the numbers in ``cells``, NaN for an empty cell."""
        if len(cells) != count:
            raise CollectedError(f"has {len(cells):,} values, where {count:,} are wanted")
        try:
            numbers = np.array([float(cell) if cell else math.nan for cell in cells])
        except ValueError:
            raise CollectedError("a value is not a number") from None
        present = numbers[[bool(cell) for cell in cells]]
        # NaN compares false, so it is refused as well.
        if not ((present >= 0.0) & (present <= LARGEST)).all():
            raise CollectedError("a value is negative, not finite, or too large")
        return numbers

    def build_collected(self) -> CollectedWatermarks:
        if not self.times:
            raise CollectedError("there is no line with the times")
        figures = {tuple(_FIGURE.fullmatch(text).groups()): rows for text, rows in self.rows.items()}  # type: ignore[union-attr]
        rows_by_kind = {
            kind: {key[1:]: rows for key, rows in figures.items() if key[0] == kind} for kind in (NODE, WORKLOAD)
        }
        names, nodes = self._build_columns(rows_by_kind[NODE], self.updated)
        owners, workloads = self._build_columns(rows_by_kind[WORKLOAD])
        updated = np.array([self.updated.get(name, math.nan) for name in names])
        last = Watermarks(names, updated, {}, source=self.source, curves=self.curves)
        return CollectedWatermarks.from_columns(np.array(self.times), nodes, owners, workloads, last)

    def _build_columns(
        self, figures: Mapping[Figure, Mapping[str, Floats]], first: Iterable[str] = ()
    ) -> tuple[list[str], dict[Figure, Floats]]:
        """Return the names of all objects, and for each figure a column per object."""
        names = list(dict.fromkeys([*first, *(name for rows in figures.values() for name in rows)]))
        # Few lines can name many objects and figures, whose missing values take memory too.
        if len(names) * len(figures) * len(self.times) > 2 * MOST_VALUES:
            raise CollectedError(f"there are more than {2 * MOST_VALUES:,} values, those left out among them")
        missing = np.full(len(self.times), math.nan)
        return names, {
            figure: np.array([rows.get(name, missing) for name in names]).reshape(len(names), len(self.times)).T
            for figure, rows in figures.items()
        }


class _WorkloadFigures(Mapping[str, Figures]):
    """The figures of workloads at one time, made on demand, as only a few of many are read."""

    def __init__(self, names: Sequence[str], figures: Mapping[Figure, Floats]) -> None:
        self._figures = figures
        has_figure = np.zeros(len(names), dtype=np.bool_)
        for values in figures.values():
            has_figure |= ~np.isnan(values)
        self._places = {name: place for place, name in enumerate(names) if has_figure[place]}

    def __getitem__(self, name: str) -> Figures:
        place = self._places[name]
        figures: dict[str, dict[str, float]] = {CPU: {}, MEMORY: {}}
        for (resource, key), values in self._figures.items():
            if not math.isnan(values[place]):
                figures[resource][key] = float(values[place])
        return figures

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def fill_gaps(values: Floats) -> Floats:
    """Return ``values`` with each gap in a column filled by the value before it."""
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, rows), axis=0)
    filled: Floats = np.take_along_axis(values, last, axis=0)
    return filled


def _parse_name(cells: list[str]) -> str:
    if len(cells) != 1 or len(cells[0]) > MOST_NAME or not cells[0].isprintable():
        raise CollectedError("has a name that cannot be read")
    return cells[0]


def _parse_workload(cells: list[str]) -> str:
    name = _parse_name(cells)
    if name.count("/") != 2 or not all(name.split("/")):
        raise CollectedError(f"{name[:60]!r} must be like namespace/Deployment/name")
    return name


def _format_number(value: float) -> str:
    """Return the shortest text that reads as the same number; empty for NaN."""
    return "" if math.isnan(value) else repr(value).removesuffix(".0")
