"""JSON Schema (draft 2020-12) of a scenario's document, from the same tables as its reader.

It is for completion, help and forms. Rules between fields, and names that are not in the document, are ``read``'s and
``prepare``'s.
"""

from __future__ import annotations

from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.document.keys import DOCUMENT, KIND

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> Json:
    """The schema of a scenario."""
    return {"$schema": DIALECT, "title": KIND, **DOCUMENT.schema()}
