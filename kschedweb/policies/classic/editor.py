"""The editor of a classic policy: the document and the process options, as text and as a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, normalised, parse
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.releases.classic import Algorithm, edition_of, process_of
from kschedweb.policies.classic import form, writing
from kschedweb.policies.classic.effective import Effective, effective
from kschedweb.policies.classic.form import ClassicForm
from kschedweb.policies.classic.lists import LISTS
from kschedweb.policies.classic.validation import ClassicChecked, check_classic
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing.editor import state


@dataclass
class ClassicEditor(EditorState[ClassicChecked, Algorithm]):
    """The editor; ``base`` is the document from which the form was filled, ``process`` the start options."""

    document: str
    base: str
    process: dict[str, Any]
    checked: ClassicChecked
    form: ClassicForm

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines; those of ``process`` are shown at their fields."""
        placed = [problem for problem in self.checked.errors if not problem.path.startswith("process.")]
        return sorted(placed, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> Algorithm | None:
        return self.checked.algorithm

    @property
    def process_fields(self) -> dict[str, str]:
        fields = {one.name: one.value for one in self.form.process}
        return {"process": "shown", **fields, **{f"process.gate.{gate}": "on" for gate, on, _ in self.form.gates if on}}

    @property
    def effective(self) -> Effective | None:
        return effective(self.checked)

    @property
    def state(self) -> dict[str, Any]:
        return state(self.document, self.problems, self.checked.warnings)


def opened(document: str, process: Mapping[str, Any]) -> ClassicEditor:
    """The editor for a saved document."""
    checked = check_classic(document, process)
    data = checked.document.data if checked.document else {}
    return ClassicEditor(document, document, dict(process), checked, form.build(data, process, checked.errors))


def posted(fields: Mapping[str, str], saved: Mapping[str, Any]) -> ClassicEditor:
    """The editor for posted fields and text; ``saved`` are the saved process options."""
    document = normalised(fields.get("document", ""))
    base = normalised(fields.get("base", document))
    process = _plain(writing.process_posted(fields, saved))
    edition = form.edition_shown(process)
    key = next((key for key in LISTS if fields.get("add") == key), "")
    try:
        if "base" in fields:
            document = writing.apply(document, base, fields, edition)
        if key:
            kind, name = fields.get(f"new.{key}.kind", ""), fields.get(f"new.{key}.name", "")
            document = writing.add(document, key, kind, name, edition)
    except DocumentError:
        return _unreadable(document, base, fields, process)
    shown = opened(document, process)
    for section in shown.form.sections:
        if section.key != key:  # keeps the choices for a new rule until it is added
            section.new_kind = fields.get(f"new.{section.key}.kind", "")
            section.new_name = fields.get(f"new.{section.key}.name", "")
    return shown


def _plain(process: dict[str, Any]) -> dict[str, Any]:
    """``process`` without default values; unchanged if it cannot be read."""
    try:
        return process_of(edition_of(process))
    except ObjectError:
        return process


def _unreadable(document: str, base: str, fields: Mapping[str, str], process: dict[str, Any]) -> ClassicEditor:
    """The editor for invalid text; the form keeps its fields until they can be written into a valid document."""
    try:
        shown = writing.apply(base, base, fields, form.edition_shown(process)) if "base" in fields else base
        data = parse(shown).data
    except DocumentError:
        base, data = "", {}
    checked = check_classic(document, process)
    return ClassicEditor(document, base, process, checked, form.build(data, process, []))
