"""``If-Match`` on documents with numbered revisions, which prevents lost updates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from drf_spectacular.utils import OpenApiParameter

from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from rest_framework.request import Request


def if_match(*, required: bool = True) -> OpenApiParameter:
    """Return the header for the schema, which then also names 412 and 428 (``schema.py``)."""
    words = 'The ETag of the revision that was edited, `"3"`, or `*` for whatever is the newest.'
    return OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, required=required, description=words)


IF_MATCH = if_match()
_ETAG = re.compile(r'^(?:W/)?"?(\d{1,9})"?$')


class PreconditionRequired(ApplicationError):
    """The request does not name the revision that it would overwrite."""

    status = 428


def expected_revision(request: Request, newest: int) -> int:
    """Return the revision in ``If-Match``. Raises ``ApplicationError`` if there is none."""
    header = request.headers.get("If-Match", "").strip()
    if header == "*":
        return int(newest)
    match = _ETAG.match(header)
    if match:
        return int(match[1])
    if header:
        raise ApplicationError('If-Match must be the ETag of one revision, such as "3", or *.')
    raise PreconditionRequired(
        f'Say with If-Match which revision you edited, such as If-Match: "{newest}", so that none is lost.'
    )
