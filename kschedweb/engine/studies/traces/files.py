"""Read the files of a scenario by name; their problems are errors of the part that names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.recording import RecordingError, UseRecording
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedError, CollectedWatermarks
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_RECORD
from kschedweb.engine.studies.document.parts import Trace
from kschedweb.engine.studies.traces import csv_pods, openb, records
from kschedweb.engine.studies.traces.pods import TracePod
from kschedweb.engine.studies.traces.records import Record
from kschedweb.engine.studies.traces.table import LineProblems
from kschedweb.engine.studies.traces.text import Lines, TraceError, read_lines

__all__ = ["Files", "Lines"]


class Files:
    """The files of a scenario; ``notes`` collects what is left out of a file. All methods raise PartError."""

    def __init__(self, files: Mapping[str, Lines], notes: list[str]) -> None:
        self._files, self._notes = files, notes

    def read_nodes(self, name: str, form: str) -> Iterator[Json]:
        """Yield the nodes of a file."""
        with self._open_file(name) as source:
            yield from openb.read_nodes(read_lines(source), LineProblems(name, self._notes))

    def read_pods(self, trace: Trace) -> Iterator[TracePod]:
        """Yield the pods of a trace in the format openb or csv."""
        with self._open_file(trace.file) as source:
            line_problems = LineProblems(trace.file, self._notes)
            if trace.columns is not None:
                yield from csv_pods.read_pods(read_lines(source), trace.columns, trace.namespace, line_problems)
            else:
                yield from openb.read_pods(read_lines(source), trace.namespace, line_problems)

    def read_records(self, trace: Trace) -> Iterator[Record]:
        """Yield the records of a cluster's objects."""
        with self._open_file(trace.file) as source:
            yield from records.read_records(
                read_lines(source, longest=MOST_RECORD), LineProblems(trace.file, self._notes)
            )

    def read_recording(self, name: str) -> UseRecording:
        """Return the CPU use of machines."""
        with self._open_file(name) as source:
            return UseRecording.from_csv(read_lines(source))

    def read_figures(self, name: str) -> CollectedWatermarks | None:
        """Return the use of nodes and workloads; ``None`` if there is no such file."""
        if name not in self._files:
            return None
        with self._open_file(name) as source:
            return CollectedWatermarks.from_lines(read_lines(source))

    @contextmanager
    def _open_file(self, name: str) -> Iterator[Lines]:
        source = self._files.get(name)
        if source is None:
            names = ", ".join(sorted(self._files)[:10]) or "none"
            raise PartError(f"there is no file {name!r}; files are {names}", "file")
        try:
            yield source
        except (TraceError, RecordingError, CollectedError) as error:
            raise PartError(f"{name}: {error}", "file") from None
