"""Downloads of recordings, for the page and REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import StreamingHttpResponse

from kschedweb.playground.recordings import selectors

if TYPE_CHECKING:
    from kschedweb.playground.recordings.models import Recording


def download_response(recording: Recording) -> StreamingHttpResponse:
    """Return the stored records, one JSON value per line, gzipped."""
    response = StreamingHttpResponse(selectors.read_chunks(recording), content_type="application/gzip")
    response["Content-Disposition"] = f'attachment; filename="{recording.file_name}.gz"'
    return response
