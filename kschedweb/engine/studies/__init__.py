"""Scenarios: their documents, their simulation under a policy, and the evaluation of runs."""

from kschedweb.engine.studies.document.document import Document, DocumentError, DocumentProblem, read
from kschedweb.engine.studies.document.schema import json_schema
from kschedweb.engine.studies.prepare.prepared import Prepared, prepare

__all__ = ["Document", "DocumentError", "DocumentProblem", "Prepared", "json_schema", "prepare", "read"]
