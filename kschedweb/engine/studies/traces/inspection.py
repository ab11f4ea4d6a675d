"""Inspect a file before it is used: its content, and lines that cannot be used."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from kschedweb.engine.simulation.recording import MOST_MACHINES, RecordingError, UseRecording
from kschedweb.engine.state.watermarks.collected_watermarks import HEAD as HEAD_OF_FIGURES
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedError, CollectedWatermarks
from kschedweb.engine.studies.document.limits import MOST_EVENTS, MOST_NODES, MOST_PODS, MOST_RECORD
from kschedweb.engine.studies.traces import openb
from kschedweb.engine.studies.traces.records import read_records
from kschedweb.engine.studies.traces.table import LineProblems, read_rows
from kschedweb.engine.studies.traces.text import TraceError, count_lines, read_lines
from kschedweb.engine.values import dataclass

NODES, PODS, RECORDS, CSV, RECORDING = "openb-nodes", "openb-pods", "records", "csv", "recording"
FIGURES = "figures"
KINDS = (NODES, PODS, RECORDS, CSV, RECORDING, FIGURES)
# Lines of figures. The reader limits their content, so all of them are read.
MOST_FIGURES = 1_000_000
# Lines that are inspected one by one, so that an inspection takes at most a few seconds.
INSPECTED_LINES = {
    NODES: 100_000,
    PODS: 100_000,
    CSV: 100_000,
    RECORDS: 10_000,
    RECORDING: 1_000,
    FIGURES: MOST_FIGURES,
}
# Usable lines that a scenario takes at most.
MAX_OBJECTS = {
    NODES: MOST_NODES,
    PODS: MOST_PODS,
    CSV: MOST_PODS,
    RECORDS: MOST_EVENTS,
    RECORDING: MOST_MACHINES,
    FIGURES: MOST_FIGURES,
}
# KiB of memory of a line after reading, as measured approximately.
KIB = {NODES: 2.0, PODS: 1.0, RECORDS: 8.0, CSV: 1.0, RECORDING: 2.5, FIGURES: 2.5}
# Shown rows, characters of a cell, and values of a machine.
SAMPLE_ROWS, WIDTH, VALUES = 5, 80, 8
# Characters that determine the kind.
HEAD = 4096
# Columns by which files of openb are recognised.
NODE_COLUMNS, POD_COLUMNS = {"sn", "cpu_milli", "memory_mib"}, {"name", "cpu_milli", "memory_mib"}


@dataclass(frozen=True, slots=True)
class FileCost:
    """The cost of the whole file, estimated from its first lines."""

    # Nodes, pods, records or machines.
    objects: int
    # Memory in MiB.
    mib: float


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of an inspection."""

    # One of KINDS.
    kind: str
    # Lines of the file.
    lines: int
    # Lines from the beginning that were inspected one by one.
    looked_at: int
    # Those of them that can be used.
    usable: int
    # Names in the first line, or the parts of a record or recording.
    columns: list[str]
    # The first rows, with cells of at most 80 characters.
    rows: list[list[str]]
    # Line and text of each problem; line 0 stands for the whole file.
    problems: list[tuple[int, str]]
    # First and last time in seconds; None without times.
    span: tuple[float, float] | None
    cost: FileCost


def inspect_file(kind: str, data: bytes) -> Inspection:
    """Inspect ``data``, which may be compressed with gzip; "" for ``kind`` detects it from the first line.

    A table of numbers without names is a recording, even if ``kind`` is csv. An inspection takes at most a few seconds
    and MiB, whatever the file claims. Raise TraceError for a useless file, with the line if there is one.
    """
    detected_kind = kind_of(data)
    kind = detected_kind if not kind or (kind, detected_kind) == (CSV, RECORDING) else kind
    longest = {"longest": MOST_RECORD} if kind == RECORDS else {}
    total = count_lines(data, **longest)
    looked_at = min(total, INSPECTED_LINES[kind])
    look, line_problems = _FileSample(itertools.islice(read_lines(data, **longest), looked_at)), LineProblems("", [])
    try:
        _INSPECTORS[kind](look, line_problems)
    except (RecordingError, CollectedError) as error:
        raise TraceError(str(error)) from None
    # The header is a line, but no object.
    usable, heads = line_problems.usable_count, int(kind in (NODES, PODS, CSV))
    objects = usable if looked_at == total else round(usable / (looked_at - heads) * (total - heads))
    if objects > MAX_OBJECTS[kind]:
        line_problems.report_problem(
            f"has about {objects:,} lines that can be used; a scenario takes at most {MAX_OBJECTS[kind]:,}"
        )
    if looked_at < total:
        line_problems.report_problem(f"only the first {looked_at:,} of {total:,} lines were looked at one by one")
    cost = FileCost(objects, round(objects * KIB[kind] / 1024, 1))
    return Inspection(kind, total, looked_at, usable, look.columns, look.rows, line_problems.located, look.span, cost)


def kind_of(data: bytes) -> str:
    """Return the kind of a file by its first line. Raise TraceError if that cannot be read."""
    first = next(read_lines(data, longest=MOST_RECORD)).strip()[:HEAD]
    if first.startswith("{"):
        return RECORDS
    cells = [cell.strip().strip('"') for cell in first.split(",")]
    if cells[: len(HEAD_OF_FIGURES)] == HEAD_OF_FIGURES:
        return FIGURES
    if len(cells) > 1 and all(map(_is_number, cells[1 : VALUES + 1])):
        return RECORDING
    if set(cells) >= NODE_COLUMNS:
        return NODES
    return PODS if set(cells) >= POD_COLUMNS else CSV


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


class _FileSample:
    """Read a file's lines, keep the first ones, and collect the times."""

    def __init__(self, source: Iterator[str]) -> None:
        first = list(itertools.islice(source, SAMPLE_ROWS + 1))
        self.lines = itertools.chain(first, source)
        self.columns: list[str] = []
        self.rows: list[list[str]] = []
        self._first, self._last = math.inf, -math.inf
        self._first_lines = first

    def read_table(self) -> Iterator[str]:
        """Return the lines of a table whose first line has the names."""
        with suppress(csv.Error):  # The reader of the whole file raises it again, with its line.
            for row in csv.reader(self._first_lines):
                self.rows.append([cell.strip()[:WIDTH] for cell in row])
        self.columns, self.rows = self.rows[0] if self.rows else [], self.rows[1:]
        return self.lines

    def add_times(self, times: Iterable[float]) -> None:
        for time in times:
            self._first, self._last = min(self._first, time), max(self._last, time)

    @property
    def span(self) -> tuple[float, float] | None:
        return (self._first, self._last) if self._first <= self._last else None


def _inspect_nodes(look: _FileSample, line_problems: LineProblems) -> None:
    for _ in openb.read_nodes(look.read_table(), line_problems):
        pass


def _inspect_pods(look: _FileSample, line_problems: LineProblems) -> None:
    look.add_times(pod.at for pod in openb.read_pods(look.read_table(), "default", line_problems))


def _inspect_csv(look: _FileSample, line_problems: LineProblems) -> None:
    for line, _ in read_rows(look.read_table(), (), line_problems):
        line_problems.count_line(line, 0.0)
    line_problems.conclude()


def _inspect_records(look: _FileSample, line_problems: LineProblems) -> None:
    def record_times() -> Iterator[float]:
        for record in read_records(look.lines, line_problems):
            if len(look.rows) < SAMPLE_ROWS:
                time = datetime.fromtimestamp(record.time, UTC).isoformat()
                look.rows.append([cell[:WIDTH] for cell in (time, record.event, *record.key)])
            yield record.time

    look.columns = ["time", "event", "kind", "namespace", "name"]
    look.add_times(record_times())


def _inspect_recording(look: _FileSample, line_problems: LineProblems) -> None:
    recording = UseRecording.from_csv(look.lines)
    percents = recording.percent[:SAMPLE_ROWS, :VALUES].tolist()
    minutes = [f"{place * recording.step / 60:g} min" for place in range(min(VALUES, recording.percent.shape[1]))]
    look.columns = ["machine", *minutes]
    look.rows = [
        [name[:WIDTH], *(f"{value:g} %" for value in row)]
        for name, row in zip(recording.names[:SAMPLE_ROWS], percents, strict=False)
    ]
    look.add_times((0.0, recording.seconds))
    line_problems.usable_count = len(recording.names)


def _inspect_figures(look: _FileSample, line_problems: LineProblems) -> None:
    collected = CollectedWatermarks.from_lines(look.lines)
    look.columns = ["figures", "of"]
    for kind, names, figures in (
        ("nodes", collected.names, collected.nodes),
        ("workloads", collected.owners, collected.workloads),
    ):
        summary = ", ".join(f"{resource} {key}" for resource, key in figures)
        look.rows.append([summary[:WIDTH], f"{len(names):,} {kind}"])
    look.add_times((collected.times[0], collected.times[-1]))
    line_problems.usable_count = len(collected.names) + len(collected.owners)


_INSPECTORS = {
    NODES: _inspect_nodes,
    PODS: _inspect_pods,
    RECORDS: _inspect_records,
    CSV: _inspect_csv,
    RECORDING: _inspect_recording,
    FIGURES: _inspect_figures,
}
