"""The editor of a classic policy: the document and the process options, as text and as a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.documents.marked_documents import (
    MarkedDocumentError,
    MarkedProblem,
    normalise_text,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.releases.classic import Algorithm, edition_of, process_of
from kschedweb.policies.classic import form, writing
from kschedweb.policies.classic.effective import Effective, compute_effective
from kschedweb.policies.classic.form import ClassicForm
from kschedweb.policies.classic.lists import LISTS
from kschedweb.policies.classic.validation import ClassicChecked, check_classic
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing.editor import build_state


@dataclass
class ClassicEditor(EditorState[ClassicChecked, Algorithm]):
    """The editor of a classic policy."""

    # The YAML or JSON that the editor shows.
    document: str
    # The document from which the form was filled; posted fields are compared with it.
    base: str
    # The start options of kube-scheduler, without those that have their default.
    process: Json
    checked: ClassicChecked
    form: ClassicForm

    @property
    def problems(self) -> list[MarkedProblem]:
        """Return the problems in the order of lines. Problems of ``process`` are shown at their fields instead."""
        placed = [problem for problem in self.checked.errors if not problem.path.startswith("process.")]
        return sorted(placed, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> Algorithm | None:
        return self.checked.algorithm

    @property
    def process_fields(self) -> dict[str, str]:
        fields = {field.name: field.value for field in self.form.process}
        return {"process": "shown", **fields, **{f"process.gate.{gate}": "on" for gate, on, _ in self.form.gates if on}}

    @property
    def effective(self) -> Effective | None:
        return compute_effective(self.checked)

    @property
    def state(self) -> Json:
        return build_state(self.document, self.problems, self.checked.warnings)


def open_editor(document: str, process: Mapping[str, Any]) -> ClassicEditor:
    """Return the editor for a saved document."""
    checked = check_classic(document, process)
    data = checked.document.data if checked.document else {}
    return ClassicEditor(document, document, dict(process), checked, form.build_form(data, process, checked.errors))


def read_posted(fields: Mapping[str, str], saved: Mapping[str, Any]) -> ClassicEditor:
    """Return the editor for posted fields and text. ``saved`` has the saved process options."""
    document = normalise_text(fields.get("document", ""))
    base = normalise_text(fields.get("base", document))
    # Defaults are left out, so that a form posted unchanged equals the stored options.
    process = _without_defaults(writing.process_posted(fields, saved))
    edition = form.edition_shown(process)
    key = next((key for key in LISTS if fields.get("add") == key), "")
    try:
        if "base" in fields:
            document = writing.apply_form(document, base, fields, edition)
        if key:
            kind, name = fields.get(f"new.{key}.kind", ""), fields.get(f"new.{key}.name", "")
            document = writing.add_rule(document, key, kind, name, edition)
    except MarkedDocumentError:
        return _open_unreadable(document, base, fields, process)
    editor = open_editor(document, process)
    for section in editor.form.sections:
        # The choices for a new rule stay until it is added.
        if section.key != key:
            section.new_kind = fields.get(f"new.{section.key}.kind", "")
            section.new_name = fields.get(f"new.{section.key}.name", "")
    return editor


def _without_defaults(process: Json) -> Json:
    """Return ``process`` without default values, or unchanged if it cannot be read."""
    try:
        return process_of(edition_of(process))
    except ObjectError:
        return process


def _open_unreadable(document: str, base: str, fields: Mapping[str, str], process: Json) -> ClassicEditor:
    """Return the editor for invalid text. The form keeps its fields until they can be written into a valid document."""
    try:
        base_text = writing.apply_form(base, base, fields, form.edition_shown(process)) if "base" in fields else base
        data = parse_document(base_text).data
    except MarkedDocumentError:
        base, data = "", {}
    checked = check_classic(document, process)
    return ClassicEditor(document, base, process, checked, form.build_form(data, process, []))
