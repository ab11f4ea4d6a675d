"""The state of the editor: a document, shown as YAML and as a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, normalised, parse
from kschedweb.playground.scenarios import form
from kschedweb.playground.scenarios.validation import Checked, check
from kschedweb.policies.editing.editor import state

if TYPE_CHECKING:
    from kschedweb.playground.scenarios.form import ScenarioForm


@dataclass(frozen=True)
class Choices:
    """The choices of form fields: snapshots as (id, label), and the scenario's files."""

    snapshots: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()


@dataclass
class Editor:
    """The editor. ``base`` is the document from which the form was filled; see ``form.apply``."""

    document: str
    base: str
    checked: Checked
    form: ScenarioForm

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.problems, key=lambda problem: (problem.line, problem.column))

    def refused(self, problems: Sequence[MarkedProblem]) -> None:
        """Show also ``problems`` that were found on saving."""
        self.checked.problems.extend(problems)
        form.place(self.form, problems)

    @property
    def state(self) -> dict[str, Any]:
        """The state for the page's script."""
        return state(self.document, self.checked.problems, self.checked.warnings)


def opened(document: str, choices: Choices) -> Editor:
    """The editor for a saved document."""
    checked = check(document, files=choices.files)
    shown = form.build(checked.data, checked.problems, snapshots=choices.snapshots, files=choices.files)
    return Editor(document, document, checked, shown)


def posted(fields: Mapping[str, str], choices: Choices) -> Editor:
    """The editor for posted fields and YAML, with the effect of a pressed button."""
    document = normalised(fields.get("document", ""))
    base = normalised(fields.get("base_document", document))
    try:
        if "base_document" in fields:
            document = form.apply(document, base, fields)
        document = _pressed(document, fields)
    except DocumentError:
        return _unreadable(document, base, fields, choices)
    return opened(document, choices)


def _pressed(document: str, fields: Mapping[str, str]) -> str:
    """Apply a button that changes the document; its value is a section and a position, such as ``changes.2``."""
    for section in form.SECTIONS:
        if f"add_{section}" in fields:
            return form.add(document, section, fields.get(f"new_{section}", ""))
    for button, act in (("remove", form.remove), ("earlier", form.earlier)):
        section, _, index = fields.get(button, "").partition(".")
        if index.isdecimal() and len(index) < 6:
            return act(document, section, int(index))
    return document


def _unreadable(document: str, base: str, fields: Mapping[str, str], choices: Choices) -> Editor:
    """The editor for invalid YAML; the form keeps its fields until they can be written into a valid document."""
    try:
        data = parse(form.apply(base, base, fields) if "base_document" in fields else base).data
    except DocumentError:
        base, data = "", {}
    shown = form.build(data, [], snapshots=choices.snapshots, files=choices.files)
    return Editor(document, base, check(document), shown)
