"""Scenarios: their documents, their simulation under a policy, and the evaluation of runs."""

from kschedweb.engine.studies.document.document import DocumentProblem, ScenarioDocument, ScenarioError, read_scenario
from kschedweb.engine.studies.document.schema import json_schema
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario

__all__ = [
    "DocumentProblem",
    "PreparedScenario",
    "ScenarioDocument",
    "ScenarioError",
    "json_schema",
    "prepare_scenario",
    "read_scenario",
]
