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

MOST_TIMES = 2_016  # a week of five minutes
MOST_VALUES = 5_000_000  # of all objects and times together
MOST_NAME = 400  # characters
LARGEST = 2.0**60
HEAD = ["figure", "object"]
NODE, WORKLOAD = "node", "workload"
SOURCE, UPDATED, CURVE = "source", "updated", "hours"
_FIGURE = re.compile(rf"({NODE}|{WORKLOAD})/({CPU}|{MEMORY})/([a-z0-9_]{{1,24}})")

Figure = tuple[str, str]  # resource, key


class CollectedError(ValueError):
    """Text that cannot be read as figures; the message names the line and the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Figures at ``times`` (float64[times], seconds of the epoch, ascending), NaN where a figure was not known.

    ``nodes`` and ``workloads`` are float64[times, objects] by resource and key: percent of allocatable for the nodes of
    ``last``, cores and bytes per pod for the workloads ``owners``. ``last`` has the watermarks at the last time, with
    what is known of that time only; but its curves of the day are those that were known at the first time.
    """

    times: Floats
    nodes: Mapping[Figure, Floats]
    owners: Sequence[str]
    workloads: Mapping[Figure, Floats]
    last: Watermarks

    @classmethod
    def of(cls, known: Watermarks, at: float) -> Collected:
        """The figures of one time."""
        owners = list(known.workloads)
        keys = dict.fromkeys((one, key) for told in known.workloads.values() for one in told for key in told[one])
        workloads = {
            (one, key): np.array([[known.workloads[name].get(one, {}).get(key, math.nan) for name in owners]])
            for one, key in keys
        }
        nodes = {figure: column[None, :] for figure, column in known.figures.items()}
        return cls(np.array([at]), nodes, owners, workloads, known)

    @classmethod
    def over(
        cls,
        times: Floats,
        nodes: Mapping[Figure, Floats],
        owners: Sequence[str],
        workloads: Mapping[Figure, Floats],
        last: Watermarks,
    ) -> Collected:
        """Figures over time of the nodes of ``last``, which itself may be without figures."""
        figures = {figure: values[-1] for figure, values in nodes.items()}
        told = _Told(owners, {figure: values[-1] for figure, values in workloads.items()})
        return cls(times, nodes, owners, workloads, replace(last, figures=figures, workloads=told))

    @property
    def names(self) -> Sequence[str]:
        return self.last.names

    def at(self, place: int) -> Watermarks:
        """The watermarks at ``times[place]``; the age of each node's figures is that at the last time."""
        if place == len(self.times) - 1:
            return self.last
        figures = {figure: values[place] for figure, values in self.nodes.items()}
        workloads = _Told(self.owners, {figure: values[place] for figure, values in self.workloads.items()})
        return replace(self.last, figures=figures, workloads=workloads)

    def held(self) -> Collected:
        """The same figures with gaps filled by the last known value."""
        nodes = {figure: held(values) for figure, values in self.nodes.items()}
        workloads = {figure: held(values) for figure, values in self.workloads.items()}
        return Collected.over(self.times, nodes, self.owners, workloads, self.last)

    # The form as text.

    def lines(self) -> Iterator[str]:
        """A line of times, then a line for each figure of each object; ``read`` returns the same numbers."""
        yield ",".join([*HEAD, *map(_written, self.times.tolist())])
        yield f"{SOURCE},{self.last.source}"
        for name, time in zip(self.names, self.last.updated.tolist(), strict=True):
            yield f"{UPDATED},{name},{_written(time)}"
        for name, curve in self.last.curves.items():
            yield ",".join([CURVE, name, *map(_written, curve.tolist())])
        for kind, names, figures in ((NODE, self.names, self.nodes), (WORKLOAD, self.owners, self.workloads)):
            for (resource, key), values in figures.items():
                for name, row in zip(names, values.T.tolist(), strict=True):
                    yield ",".join([f"{kind}/{resource}/{key}", name, *map(_written, row)])

    @classmethod
    def read(cls, lines: Iterable[str]) -> Collected:
        """Read what ``lines`` wrote; raises CollectedError."""
        reading = _Reading()
        for number, line in enumerate(lines, start=1):
            if line:
                try:
                    reading.take(line.split(","))
                except CollectedError as error:
                    raise CollectedError(f"line {number}: {error}") from None
        return reading.collected()


@dataclass(slots=True)
class _Reading:
    """The lines read so far."""

    times: list[float] = field(default_factory=list)
    source: str = ""
    updated: dict[str, float] = field(default_factory=dict)
    rows: dict[str, dict[str, Floats]] = field(default_factory=dict)  # figure -> object -> a value for each time
    curves: dict[str, Floats] = field(default_factory=dict)
    values: int = 0

    def take(self, cells: list[str]) -> None:
        if not self.times:
            self._times(cells)
        elif cells[0] == SOURCE:
            self.source = _text(cells[1:])
        elif cells[0] == UPDATED:
            name, (time,) = _text(cells[1:2]), self._numbers(cells[2:], 1)
            self.updated[name] = time
        elif cells[0] == CURVE:
            self._count(HOURS)
            self.curves[_workload(cells[1:2])] = self._numbers(cells[2:], HOURS)
        else:
            self._figure(cells)

    def _times(self, cells: list[str]) -> None:
        if cells[:2] != HEAD:
            raise CollectedError(f"must begin with {','.join(HEAD)}, then the times")
        if not 1 <= len(cells) - 2 <= MOST_TIMES:
            raise CollectedError(f"has {len(cells) - 2:,} times; 1 to {MOST_TIMES:,} are taken")
        found = self._numbers(cells[2:], len(cells) - 2)
        if not (np.isfinite(found).all() and (np.diff(found) > 0.0).all()):
            raise CollectedError("the times must be seconds of the epoch, each later than the one before")
        self.times = found.tolist()

    def _figure(self, cells: list[str]) -> None:
        if not _FIGURE.fullmatch(cells[0]):
            raise CollectedError(f"{cells[0][:60]!r} is no figure, such as node/cpu/5m or workload/memory/1h")
        name = (_workload if cells[0].startswith(WORKLOAD) else _text)(cells[1:2])
        rows = self.rows.setdefault(cells[0], {})
        if name in rows:
            raise CollectedError(f"there is a line of {cells[0]} of {name} already")
        self._count(len(self.times))
        rows[name] = self._numbers(cells[2:], len(self.times))

    def _count(self, values: int) -> None:
        self.values += values
        if self.values > MOST_VALUES:
            raise CollectedError(f"there are more than {MOST_VALUES:,} values")

    @staticmethod
    def _numbers(cells: list[str], wanted: int) -> Floats:
        """The numbers in ``cells``, NaN for an empty cell."""
        if len(cells) != wanted:
            raise CollectedError(f"has {len(cells):,} values, where {wanted:,} are wanted")
        try:
            found = np.array([float(cell) if cell else math.nan for cell in cells])
        except ValueError:
            raise CollectedError("a value is not a number") from None
        known = found[[bool(cell) for cell in cells]]
        if not ((known >= 0.0) & (known <= LARGEST)).all():  # NaN compares false
            raise CollectedError("a value is negative, not finite, or too large")
        return found

    def collected(self) -> Collected:
        if not self.times:
            raise CollectedError("there is no line with the times")
        figures = {tuple(_FIGURE.fullmatch(text).groups()): rows for text, rows in self.rows.items()}  # type: ignore[union-attr]
        of = {kind: {key[1:]: rows for key, rows in figures.items() if key[0] == kind} for kind in (NODE, WORKLOAD)}
        names, nodes = self._columns(of[NODE], self.updated)
        owners, workloads = self._columns(of[WORKLOAD])
        updated = np.array([self.updated.get(name, math.nan) for name in names])
        last = Watermarks(names, updated, {}, source=self.source, curves=self.curves)
        return Collected.over(np.array(self.times), nodes, owners, workloads, last)

    def _columns(
        self, figures: Mapping[Figure, Mapping[str, Floats]], first: Iterable[str] = ()
    ) -> tuple[list[str], dict[Figure, Floats]]:
        """The names of all objects, and for each figure a column per object."""
        names = list(dict.fromkeys([*first, *(name for rows in figures.values() for name in rows)]))
        if len(names) * len(figures) * len(self.times) > 2 * MOST_VALUES:
            raise CollectedError(f"there are more than {2 * MOST_VALUES:,} values, those left out among them")
        missing = np.full(len(self.times), math.nan)
        return names, {
            figure: np.array([rows.get(name, missing) for name in names]).reshape(len(names), len(self.times)).T
            for figure, rows in figures.items()
        }


class _Told(Mapping[str, Figures]):
    """The figures of workloads at one time, made on demand, because only a few of many are read."""

    def __init__(self, names: Sequence[str], figures: Mapping[Figure, Floats]) -> None:
        self._figures = figures
        known = np.zeros(len(names), dtype=np.bool_)
        for values in figures.values():
            known |= ~np.isnan(values)
        self._places = {name: place for place, name in enumerate(names) if known[place]}

    def __getitem__(self, name: str) -> Figures:
        place = self._places[name]
        found: dict[str, dict[str, float]] = {CPU: {}, MEMORY: {}}
        for (resource, key), values in self._figures.items():
            if not math.isnan(values[place]):
                found[resource][key] = float(values[place])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def held(values: Floats) -> Floats:
    """``values`` with each gap in a column filled by the value before it."""
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, rows), axis=0)
    found: Floats = np.take_along_axis(values, last, axis=0)
    return found


def _text(cells: list[str]) -> str:
    if len(cells) != 1 or len(cells[0]) > MOST_NAME or not cells[0].isprintable():
        raise CollectedError("has a name that cannot be read")
    return cells[0]


def _workload(cells: list[str]) -> str:
    name = _text(cells)
    if name.count("/") != 2 or not all(name.split("/")):
        raise CollectedError(f"{name[:60]!r} must be like namespace/Deployment/name")
    return name


def _written(value: float) -> str:
    """The shortest text that reads as the same number; empty for NaN."""
    return "" if math.isnan(value) else repr(value).removesuffix(".0")
