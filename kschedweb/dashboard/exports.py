"""Tables as CSV that a spreadsheet opens as text, never as formulas."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import JsonResponse, StreamingHttpResponse

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

LINES = 500  # that are sent at once
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """Text that a spreadsheet would run gets an apostrophe in front; numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Line:
    def write(self, line: str) -> str:
        return line


class Download(StreamingHttpResponse):
    """Under ASGI, too, it is sent while it is read: Django would read the whole of a plain iterator before."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(cast("Iterator[bytes]", self.streaming_content))

        def following() -> bytes | None:
            try:
                return next(parts, None)
            finally:
                close_old_connections()  # the next part may be read by another thread

        while (part := await sync_to_async(following, thread_sensitive=False)()) is not None:
            yield part


def csv_response(filename: str, head: list[str], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """A download of ``rows`` under ``head``, written while it is read."""
    writer = csv.writer(_Line())

    def lines() -> Iterator[str]:
        yield writer.writerow(head)
        ready = (writer.writerow([csv_cell(value) for value in row]) for row in rows)
        while some := "".join(islice(ready, LINES)):
            yield some

    response = Download(lines(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


FORMATS = ("csv", "json")


def export(form: str, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponseBase:
    """``rows`` under ``head`` as a file ``name``.csv or ``name``.json; ``form`` is one of FORMATS."""
    if form == "csv":
        joined = ([" ".join(cell) if isinstance(cell, list) else cell for cell in row] for row in rows)
        return csv_response(f"{name}.csv", list(head), joined)
    listed = [dict(zip(head, row, strict=True)) for row in rows]
    response = JsonResponse({"items": listed, "count": len(listed)})
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response
