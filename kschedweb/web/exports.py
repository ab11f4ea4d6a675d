"""Tables as CSV that a spreadsheet opens as text, never as formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.http import JsonResponse, StreamingHttpResponse

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    from kschedweb.web.tables import RowTable

# Lines sent at once.
LINES = 500
# First characters of a formula in spreadsheets (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """Return a cell as text. An apostrophe is put before text that a spreadsheet would treat as a formula."""
    if value is None:
        return ""
    # Numbers cannot be formulas, and stay numbers in the spreadsheet.
    if isinstance(value, (int, float)):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Line:
    def write(self, line: str) -> str:
        return line


def csv_response(filename: str, head: list[str], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """Return a streamed download of ``rows`` under ``head``."""
    writer = csv.writer(_Line())

    def generate_lines() -> Iterator[str]:
        yield writer.writerow(head)
        ready = (writer.writerow([csv_cell(value) for value in row]) for row in rows)
        while some := "".join(islice(ready, LINES)):
            yield some

    response = StreamingHttpResponse(generate_lines(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


FORMATS = ("csv", "json")


def export_table(form: str, name: str, table: RowTable, rows: Iterable[Any]) -> HttpResponseBase:
    """Return ``rows`` as a file with the columns that the table has there."""
    return export_rows(form, name, table.head, map(table.export_row, rows))


def export_rows(form: str, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponseBase:
    """Return ``rows`` under ``head`` as a file ``name``.csv or ``name``.json; ``form`` is one of FORMATS."""
    if form == "csv":
        joined = ([" ".join(cell) if isinstance(cell, list) else cell for cell in row] for row in rows)
        return csv_response(f"{name}.csv", list(head), joined)
    listed = [dict(zip(head, row, strict=True)) for row in rows]
    response = JsonResponse({"items": listed, "count": len(listed)})
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response
