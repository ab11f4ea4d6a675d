"""The editor of a DynamicSchedulerPolicy: its YAML, and its four lists as a form."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.engine.documents.marked_documents import MarkedProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, file_schema
from kschedweb.policies.crane.example import Example, compute_example
from kschedweb.policies.crane.validation import CraneChecked, check_crane
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.documents import (
    DocumentEditor,
    DocumentForm,
    get_at_path,
    read_changed_value,
    set_at_path,
)
from kschedweb.policies.editing.field_problems import place_problems
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
    """The editor of a DynamicSchedulerPolicy, with a worked example of its effect."""

    @property
    def runs(self) -> PolicyFile | None:
        return self.checked.loaded if self.checked.valid else None

    @property
    def example(self) -> Example | None:
        """Return the policy worked out for one node; ``None`` if it is invalid."""
        return compute_example(self.runs.policy) if self.runs and self.runs.policy is not None else None


def _write_form(target: Json, base_data: Json, posted: Posted) -> None:
    path = ("spec",)
    set_at_path(
        target, path, read_changed_value(SPEC, "spec", get_at_path(base_data, path), get_at_path(target, path), posted)
    )


def _build_fields(data: Json, problems: list[MarkedProblem]) -> list[FormField]:
    """Return a table for each of the four lists, with ``problems`` at their cells."""
    group = arguments.form_field(SPEC, "spec", "spec", data.get("spec", ABSENT), ABSENT, ("spec",))
    place_problems(problems, group.walk())
    for field in group.fields:
        field.label = LABELS.get(field.label, field.label)
    return group.fields


FORM: DocumentForm[CraneChecked, CraneEditor] = DocumentForm(CraneEditor, check_crane, _build_fields, _write_form)
open_editor, read_posted = FORM.open_editor, FORM.read_posted
