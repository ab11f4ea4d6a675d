"""The state of the editing page of a classic policy: one document and its start, as text and as a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.documents.marked import DocumentError, Problem, normalised, parse
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
    """``base`` is the document that the form's fields were filled from; ``process`` is how kube-scheduler starts."""

    document: str
    base: str
    process: dict[str, Any]
    checked: ClassicChecked
    form: ClassicForm

    @property
    def problems(self) -> list[Problem]:
        """In the order of the lines; those of the start stand beside their fields."""
        placed = [problem for problem in self.checked.errors if not problem.path.startswith("process.")]
        return sorted(placed, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> Algorithm | None:
        return self.checked.algorithm

    @property
    def effective(self) -> Effective | None:
        return effective(self.checked)

    @property
    def state(self) -> dict[str, Any]:
        return state(self.document, self.problems, self.checked.warnings)


def opened(document: str, process: Mapping[str, Any]) -> ClassicEditor:
    """The editor as it is shown for a saved document."""
    checked = check_classic(document, process)
    data = checked.document.data if checked.document else {}
    return ClassicEditor(document, document, dict(process), checked, form.build(data, process, checked.errors))


def posted(fields: Mapping[str, str], saved: Mapping[str, Any]) -> ClassicEditor:
    """The editor after a person changed fields, text, or both; ``saved`` is the start that was saved last."""
    document = normalised(fields.get("document", ""))
    base = normalised(fields.get("base", document))
    process = _plain(writing.process_posted(fields, saved))
    edition = form.edition_shown(process)
    key = next((key for key in LISTS if fields.get("add") == key), "")
    try:
        if "process" in fields:
            document = writing.apply(document, base, fields, edition)
        if key:
            kind, name = fields.get(f"new.{key}.kind", ""), fields.get(f"new.{key}.name", "")
            document = writing.add(document, key, kind, name, edition)
    except DocumentError:
        return _unreadable(document, base, fields, process)
    shown = opened(document, process)
    for section in shown.form.sections:
        if section.key != key:  # what was chosen for a rule stays until it is added
            section.new_kind = fields.get(f"new.{section.key}.kind", "")
            section.new_name = fields.get(f"new.{section.key}.name", "")
    return shown


def _plain(process: dict[str, Any]) -> dict[str, Any]:
    """``process`` without what says nothing; as it is where it cannot be understood."""
    try:
        return process_of(edition_of(process))
    except ObjectError:
        return process


def _unreadable(document: str, base: str, fields: Mapping[str, str], process: dict[str, Any]) -> ClassicEditor:
    """The text cannot be read: the form keeps what was put into it until it can be written down."""
    try:
        shown = writing.apply(base, base, fields, form.edition_shown(process)) if "process" in fields else base
        data = parse(shown).data
    except DocumentError:
        base, data = "", {}
    checked = check_classic(document, process)
    return ClassicEditor(document, base, process, checked, form.build(data, process, []))
