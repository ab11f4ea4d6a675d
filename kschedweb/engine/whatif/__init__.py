"""What would happen if: a scenario as a document, and what a simulation of it is made of."""

from kschedweb.engine.whatif.document import Document, DocumentError, Problem, read
from kschedweb.engine.whatif.prepared import Prepared, prepare
from kschedweb.engine.whatif.schema import json_schema

__all__ = ["Document", "DocumentError", "Prepared", "Problem", "json_schema", "prepare", "read"]
