"""Scenarios: their documents, their simulation under a policy, and the evaluation of runs."""

from kschedweb.engine.studies.document.document import Document, DocumentError, Problem, read
from kschedweb.engine.studies.document.schema import json_schema
from kschedweb.engine.studies.prepare.prepared import Prepared, prepare

__all__ = ["Document", "DocumentError", "Prepared", "Problem", "json_schema", "prepare", "read"]
