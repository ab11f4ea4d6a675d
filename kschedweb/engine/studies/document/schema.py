"""Build the JSON Schema of a scenario document, from the same tables as its reader.

The schema does not check that named nodes and files exist; ``prepare`` does.
"""

from __future__ import annotations

from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.keys import DOCUMENT, KIND


def json_schema() -> Json:
    """Return the JSON Schema of a scenario."""
    return {"$schema": DIALECT, "title": KIND, **Schemas().struct_schema(DOCUMENT)}
