"""Read pods from any CSV file, by a mapping of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal

from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.labels import is_label_value
from kschedweb.engine.studies.document.parts import Column, TraceColumns
from kschedweb.engine.studies.traces.pods import PodSpecs, TracePod, object_name
from kschedweb.engine.studies.traces.table import LineProblems, Row, RowError, read_amount, read_rows

# Resources in bytes, for which rounding is not worth a note.
BYTES = ("memory", "ephemeral-storage", "hugepages-")


def read_pods(
    lines: Iterable[str], columns: TraceColumns, namespace: str, line_problems: LineProblems
) -> Iterator[TracePod]:
    """Yield the pods in the order of lines; times are as written, or in seconds of the epoch. Raise TraceError."""
    specs, shares = PodSpecs(), Counter[str]()
    single_columns = (
        columns.time,
        columns.cpu,
        columns.memory,
        columns.name,
        columns.namespace,
        columns.duration,
        columns.end,
    )
    listed = [*single_columns, columns.priority_class, *columns.resources.values(), *columns.labels.values()]
    names = dict.fromkeys(column.column for column in listed if column is not None)
    for line, row in read_rows(lines, names, line_problems):
        try:
            pod = _read_pod(row, line, columns, namespace, specs, shares)
        except RowError as problem:
            line_problems.leave_out(line, str(problem))
            continue
        line_problems.count_line(line, pod.at)
        yield pod
    for resource, count in shares.items():
        line_problems.report_problem(
            f"1 pod asks for a share of {resource}, which is rounded up: kube-scheduler counts whole ones"
            if count == 1
            else f"{count:,} pods ask for a share of {resource}, which is rounded up: kube-scheduler counts whole ones"
        )
    line_problems.conclude()


def _read_pod(
    row: Row, line: int, columns: TraceColumns, namespace: str, specs: PodSpecs, shares: Counter[str]
) -> TracePod:
    at = _cell_time(row, columns.time)
    if at is None:
        raise RowError(f"{columns.time.column} is empty")
    name = object_name(_cell_text(row, columns.name)) or f"pod-{line}"
    requests = {
        key: text for key in ("cpu", "memory") if (text := _cell_quantity(row, getattr(columns, key), key, shares))
    }
    more = {
        key: text for key, column in columns.resources.items() if (text := _cell_quantity(row, column, key, shares))
    }
    labels = {key: _cell_label(row, column) for key, column in columns.labels.items() if _cell_text(row, column)}
    priority = _cell_text(row, columns.priority_class)
    place = object_name(_cell_text(row, columns.namespace)) or namespace
    raw = specs.create_pod(
        name, place, labels, requests | more, more, {"priorityClassName": priority} if priority else None
    )
    if columns.duration is not None:
        return TracePod(raw, at, read_amount(row, columns.duration.column, factor=columns.duration.factor))
    end = None if columns.end is None else _cell_time(row, columns.end)
    if end is not None and end < at and columns.end is not None:
        raise RowError(f"{columns.end.column} is before {columns.time.column}")
    return TracePod(raw, at, None if end is None else end - at)


def _cell_text(row: Row, column: Column | None) -> str:
    return "" if column is None else row[column.column].strip()


def _cell_label(row: Row, column: Column) -> str:
    value = _cell_text(row, column)
    if not is_label_value(value):
        raise RowError(f"{column.column} is {value[:40]!r}, which is no value of a label")
    return value


def _cell_time(row: Row, column: Column) -> float | None:
    """Return a time in seconds; one with a date is in seconds of the epoch."""
    text = _cell_text(row, column)
    # A minus at the beginning is a sign, further on it belongs to a date.
    if "-" in text[1:] and ":" in text:
        try:
            time = datetime.fromisoformat(text)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise RowError(f"{column.column} is {text[:40]!r}, which is no time") from None
    return read_amount(row, column.column, factor=column.factor)


def _cell_quantity(row: Row, column: Column | None, resource: str, shares: Counter[str]) -> str:
    """Return the cell as a quantity; "" if it is empty. Raise RowError.

    An amount is rounded up, as Kubernetes does: a pod never requests less than the trace says. ``shares`` counts the
    pods that request a part of something that is counted in whole units.
    """
    text = _cell_text(row, column)
    if column is None or not text:
        return ""
    try:
        float(text)
    except ValueError:
        return _as_written(text, column, resource, shares)
    read_amount(row, column.column, factor=column.factor)
    # Decimals, unlike floats, give exactly 0.3 for 30 × 0.01, and keep whole numbers whole.
    exact = Decimal(text) * Decimal(repr(column.factor))
    if resource == "cpu":
        return f"{_round_up(exact * 1000)}m"
    return str(_count_share(exact, resource, shares))


def _as_written(text: str, column: Column, resource: str, shares: Counter[str]) -> str:
    """Return a quantity with a unit, such as 250m or 2Gi. Raise RowError."""
    if column.factor != 1.0:
        raise RowError(f"{column.column} is {text[:40]!r}, which is no number")
    try:
        nano = quantity.read_quantity(text, column.column)
    except ObjectError as error:
        raise RowError(str(error)) from None
    if resource in ("cpu", "memory") or nano % quantity.NANO == 0:
        return text
    return str(_count_share(Decimal(nano) / quantity.NANO, resource, shares))


def _count_share(exact: Decimal, resource: str, shares: Counter[str]) -> int:
    rounded = _round_up(exact)
    if rounded != exact and not resource.startswith(BYTES):
        shares[resource] += 1
    return rounded


def _round_up(exact: Decimal) -> int:
    return int(exact.to_integral_value(rounding=ROUND_CEILING))
