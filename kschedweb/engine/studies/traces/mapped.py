"""Any CSV file of pods, by a mapping of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.objects.labels import is_label_value
from kschedweb.engine.studies.document.parts import Column, Columns
from kschedweb.engine.studies.traces.pods import Specs, TracePod, object_name
from kschedweb.engine.studies.traces.table import Doubts, Row, RowError, amount, rows


def pods(lines: Iterable[str], columns: Columns, namespace: str, doubts: Doubts) -> Iterator[TracePod]:
    """The pods in the order of lines; times are as written, or in seconds of the epoch. Raises TraceError."""
    specs = Specs()
    one = (columns.time, columns.cpu, columns.memory, columns.name, columns.namespace, columns.duration, columns.end)
    listed = [*one, columns.priority_class, *columns.resources.values(), *columns.labels.values()]
    names = dict.fromkeys(column.column for column in listed if column is not None)
    for line, row in rows(lines, names, doubts):
        try:
            found = _pod(row, line, columns, namespace, specs)
        except RowError as problem:
            doubts.left_out(line, str(problem))
            continue
        doubts.came(line, found.at)
        yield found
    doubts.conclude()


def _pod(row: Row, line: int, columns: Columns, namespace: str, specs: Specs) -> TracePod:
    at = _time(row, columns.time)
    if at is None:
        raise RowError(f"{columns.time.column} is empty")
    name = object_name(_text(row, columns.name)) or f"pod-{line}"
    requests = {key: text for key in ("cpu", "memory") if (text := _quantity(row, getattr(columns, key), key))}
    more = {key: text for key, column in columns.resources.items() if (text := _quantity(row, column, key))}
    labels = {key: _label(row, column) for key, column in columns.labels.items() if _text(row, column)}
    priority = _text(row, columns.priority_class)
    place = object_name(_text(row, columns.namespace)) or namespace
    raw = specs.pod(name, place, labels, requests | more, more, {"priorityClassName": priority} if priority else None)
    if columns.duration is not None:
        return TracePod(raw, at, amount(row, columns.duration.column, factor=columns.duration.factor))
    end = None if columns.end is None else _time(row, columns.end)
    if end is not None and end < at and columns.end is not None:
        raise RowError(f"{columns.end.column} is before {columns.time.column}")
    return TracePod(raw, at, None if end is None else end - at)


def _text(row: Row, column: Column | None) -> str:
    return "" if column is None else row[column.column].strip()


def _label(row: Row, column: Column) -> str:
    value = _text(row, column)
    if not is_label_value(value):
        raise RowError(f"{column.column} is {value[:40]!r}, which is no value of a label")
    return value


def _time(row: Row, column: Column) -> float | None:
    """A time in seconds; one with a date is in seconds of the epoch."""
    text = _text(row, column)
    if "-" in text[1:] and ":" in text:
        try:
            time = datetime.fromisoformat(text)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise RowError(f"{column.column} is {text[:40]!r}, which is no time") from None
    return amount(row, column.column, factor=column.factor)


def _quantity(row: Row, column: Column | None, resource: str) -> str:
    """The cell as a quantity; "" if it is empty. Raises RowError."""
    text = _text(row, column)
    if column is None or not text:
        return ""
    try:
        float(text)
    except ValueError:
        if column.factor != 1.0:
            raise RowError(f"{column.column} is {text[:40]!r}, which is no number") from None
        try:
            quantity.read(text, column.column)
        except ObjectError as error:
            raise RowError(str(error)) from None
        return text
    found = amount(row, column.column, factor=column.factor)
    assert found is not None
    return f"{round(found * 1000)}m" if resource == "cpu" else str(round(found))
