"""Read records of kube-scheduler-simulator's recorder: a line for each object added, updated or deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_string
from kschedweb.engine.studies.traces.table import LineProblems, RowError
from kschedweb.engine.values import dataclass

ADD, UPDATE, DELETE = "Add", "Update", "Delete"


@dataclass(frozen=True, slots=True)
class Record:
    """A change of an object."""

    # Line of the file, from 1.
    line: int
    # Seconds of the epoch.
    time: float
    # ADD, UPDATE or DELETE.
    event: str
    # Kind, namespace and name.
    key: tuple[str, str, str]
    # The object after the change; of a deleted one, at least its name.
    raw: Json


def read_records(lines: Iterable[str], line_problems: LineProblems) -> Iterator[Record]:
    """Yield the records in the order of lines. Raise TraceError."""
    for line, line_text in enumerate(lines, start=1):
        if not line_text.strip():
            continue
        try:
            record = _parse_record(line_text, line)
        except (RowError, ObjectError) as problem:
            line_problems.leave_out(line, str(problem))
            continue
        line_problems.count_line(line, record.time)
        yield record
    line_problems.conclude()


def _parse_record(line_text: str, line: int) -> Record:
    try:
        raw = json.loads(line_text)
    # Deeply nested JSON ends in a RecursionError.
    except (ValueError, RecursionError) as error:
        raise RowError(f"is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise RowError("is no object with time, event and resource")
    event, resource = get_string(raw, "event"), get_mapping(raw, "resource")
    if event not in (ADD, UPDATE, DELETE):
        raise RowError(f"event is {event[:40]!r}, not {ADD}, {UPDATE} or {DELETE}")
    metadata = get_mapping(resource, "metadata", "resource.")
    kind, name = get_string(resource, "kind", "resource."), get_string(metadata, "name", "resource.metadata.")
    if not kind or not name:
        raise RowError("resource has no kind, or no name")
    namespace = get_string(metadata, "namespace", "resource.metadata.")
    return Record(line, parse_seconds(get_string(raw, "time"), "time"), event, (kind, namespace, name), resource)


def parse_seconds(time_text: str, field: str) -> float:
    """Parse a time in Go's format (up to nine decimals) to seconds of the epoch; raise RowError."""
    try:
        time = datetime.fromisoformat(time_text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise RowError(f"{field} is {time_text[:40]!r}, which is no time") from None
