"""The editor of a DynamicSchedulerPolicy: its YAML, and its four lists as a form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kschedweb.engine.documents.marked import MarkedProblem
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, file_schema
from kschedweb.policies.crane.arithmetic import Example, example
from kschedweb.policies.crane.validation import CraneChecked, check_crane
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field, Posted
from kschedweb.policies.editing.documents import DocumentEditor, DocumentForm, at, changed, put
from kschedweb.policies.editing.plain import place
from kschedweb.web.translating import gettext_lazy as _

SPEC = file_schema()["properties"]["spec"]
LABELS = {
    "syncPolicy": _("Sync periods"),
    "predicate": _("Predicate: limits"),
    "priority": _("Priority: weights"),
    "hotValue": _("Hot value"),
}


@dataclass
class CraneEditor(DocumentEditor[CraneChecked, PolicyFile]):
    """The editor, with what the policy means."""

    @property
    def runs(self) -> PolicyFile | None:
        return self.checked.loaded if self.checked.valid else None

    @property
    def example(self) -> Example | None:
        """What the policy means, worked out; ``None`` where it is invalid."""
        return example(self.runs.policy) if self.runs and self.runs.policy is not None else None


def _write(target: dict[str, Any], shown: dict[str, Any], posted: Posted) -> None:
    path = ("spec",)
    put(target, path, changed(SPEC, "spec", at(shown, path), at(target, path), posted))


def _fields(data: dict[str, Any], problems: list[MarkedProblem]) -> list[Field]:
    """A table for each of the four lists, with ``problems`` at their cells."""
    group = arguments.form_field(SPEC, "spec", "spec", data.get("spec", ABSENT), ABSENT, ("spec",))
    place(problems, group.walk())
    for one in group.fields:
        one.label = LABELS.get(one.label, one.label)
    return group.fields


FORM: DocumentForm[CraneChecked, CraneEditor] = DocumentForm(CraneEditor, check_crane, _fields, _write)
opened, posted = FORM.opened, FORM.posted
