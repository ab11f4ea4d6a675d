"""Read scenarios from files, with everything that an export of the site has besides them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.documents.files import ReadError, read_document
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.document import KIND, VERSION, ScenarioDocument, ScenarioError
from kschedweb.engine.studies.document.document import read_scenario as scenario
from kschedweb.engine.values import dataclass

# Kind of the site's export.
EXPORT = "ScenarioExport"
# The scenario of a gate without one: nothing but the cluster.
EMPTY = {"apiVersion": VERSION, "kind": KIND, "name": "gate"}


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario with the content of its file."""

    document: ScenarioDocument
    # Objects of its base.
    objects: list[Json] = field(default_factory=list)
    # Time at which these were read, in seconds of the epoch; None if it is unknown.
    now: float | None = None
    # Files that the scenario names, by name.
    files: Mapping[str, bytes] = field(default_factory=dict)


def read_scenario_file(data: bytes) -> ScenarioFile:
    """Read a scenario's file: a document of kind Scenario, or the site's export with everything it needs.

    Raise ReadError, and DocumentError for problems in the scenario.
    """
    raw = read_document(data)
    if not isinstance(raw, dict) or raw.get("kind") != EXPORT:
        return ScenarioFile(scenario(raw))
    text, snapshot = raw.get("scenario"), raw.get("snapshot")
    if not isinstance(text, str):
        raise ReadError("scenario: must be text")
    if snapshot is not None and (not isinstance(snapshot, dict) or not isinstance(snapshot.get("objects"), list)):
        raise ReadError("snapshot.objects: must be a list")
    files = raw.get("files") or []
    if not isinstance(files, list) or not all(_is_file(file) for file in files):
        raise ReadError("files: must be a list of objects with name and text")
    contents = {file["name"]: file["text"].encode() for file in files}
    taken_at = (snapshot or {}).get("takenAt")
    now = float(taken_at) if isinstance(taken_at, int | float) else None
    return ScenarioFile(scenario(read_document(text.encode())), (snapshot or {}).get("objects") or [], now, contents)


def _is_file(raw: Any) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("name"), str) and isinstance(raw.get("text"), str)


def to_scenario_error(path: str, error: ReadError) -> ScenarioError:
    """Return ``error`` as a DocumentError at ``path``."""
    return ScenarioError([DocumentProblem(path, str(error))])
