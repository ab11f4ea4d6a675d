"""The editor of a DynamicSchedulerPolicy: its YAML, and its four lists as a form."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, normalised, parse
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, file_schema
from kschedweb.policies.crane.arithmetic import Example, example
from kschedweb.policies.crane.validation import CraneChecked, check_crane
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field
from kschedweb.policies.editing.editor import state
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.plain import place
from kschedweb.policies.editing.switches import as_dict

SPEC = file_schema()["properties"]["spec"]
LABELS = {
    "syncPolicy": "Sync periods",
    "predicate": "Predicate: limits",
    "priority": "Priority: weights",
    "hotValue": "Hot value",
}


@dataclass
class CraneEditor(EditorState[CraneChecked, PolicyFile]):
    """The editor; ``base`` is the document from which the form was filled."""

    document: str
    base: str
    checked: CraneChecked
    fields: list[Field]
    process: dict[str, Any] = field(default_factory=dict)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> PolicyFile | None:
        return self.checked.loaded if self.checked.valid else None

    @property
    def example(self) -> Example | None:
        """What the policy means, worked out; ``None`` where it is invalid."""
        return example(self.runs.policy) if self.runs and self.runs.policy is not None else None

    @property
    def state(self) -> dict[str, Any]:
        return state(self.document, self.problems, self.checked.warnings)


def opened(document: str) -> CraneEditor:
    """The editor for a saved document."""
    checked = check_crane(document)
    data = checked.document.data if checked.document else {}
    return CraneEditor(document, document, checked, _fields(data, checked.errors))


def posted(posted: Mapping[str, str]) -> CraneEditor:
    """The editor for posted fields and YAML: what differs from the form's base is written into the YAML."""
    document = normalised(posted.get("document", ""))
    base = normalised(posted.get("base", document))
    try:
        return opened(_applied(document, base, posted) if "base" in posted else document)
    except DocumentError:
        return _unreadable(document, base, posted)


def _applied(document: str, base: str, posted: Mapping[str, str]) -> str:
    """``document`` with the changes of the form. Raises DocumentError if one of the two is not YAML."""
    data, shown = as_dict(parse(document).data), as_dict(parse(base).data)
    old, new = arguments.shown_value(SPEC, shown.get("spec", ABSENT)), arguments.read(SPEC, "spec", posted)
    target = deepcopy(data)
    value = arguments.overlay(old, new, data.get("spec", ABSENT))
    if value is ABSENT:
        target.pop("spec", None)
    else:
        target["spec"] = value
    return document if target == data else rewrite(document, target)


def _unreadable(document: str, base: str, posted: Mapping[str, str]) -> CraneEditor:
    """The editor for text that is no YAML; the form keeps its fields until they can be written into one that is."""
    try:
        data = parse(_applied(base, base, posted) if "base" in posted else base).data
    except DocumentError:
        base, data = "", {}
    return CraneEditor(document, base, check_crane(document), _fields(data, []))


def _fields(data: Any, problems: list[MarkedProblem]) -> list[Field]:
    """A table for each of the four lists, with ``problems`` at their cells."""
    group = arguments.form_field(SPEC, "spec", "spec", as_dict(data).get("spec", ABSENT), ABSENT, ("spec",))
    place(problems, group.walk())
    for one in group.fields:
        one.label = LABELS.get(one.label, one.label)
    return group.fields
