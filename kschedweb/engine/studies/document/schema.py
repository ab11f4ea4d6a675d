"""JSON Schema of a scenario's document, from the same tables as its reader.

Names that are not in the document are ``prepare``'s.
"""

from __future__ import annotations

from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.document.keys import DOCUMENT, KIND


def json_schema() -> Json:
    """The schema of a scenario."""
    return {"$schema": DIALECT, "title": KIND, **Schemas().struct(DOCUMENT)}
