"""The state of the editor: a document, shown as YAML and as a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kschedweb.engine.documents.marked_documents import (
    MarkedDocumentError,
    MarkedProblem,
    normalise_text,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.playground.scenarios import document_form
from kschedweb.playground.scenarios.validation import CheckedScenario, check_scenario
from kschedweb.policies.editing.editor import build_state

if TYPE_CHECKING:
    from kschedweb.playground.scenarios.document_form import ScenarioForm


@dataclass(frozen=True)
class Choices:
    """The choices of form fields."""

    # Labels of snapshots by id.
    snapshots: Mapping[str, str] = field(default_factory=dict)
    # Names of the scenario's files.
    files: tuple[str, ...] = ()


@dataclass
class Editor:
    """The editor of a scenario."""

    # The document as it would be saved.
    document: str
    # The document from which the form was filled; see ``document_form.apply_posted``.
    base: str
    checked: CheckedScenario
    form: ScenarioForm

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.problems, key=lambda problem: (problem.line, problem.column))

    def add_problems(self, problems: Sequence[MarkedProblem]) -> None:
        """Show ``problems`` that were found on saving, too."""
        self.checked.problems.extend(problems)
        document_form.place_problems(self.form, problems)

    @property
    def state(self) -> Json:
        """The state for the page's script."""
        return build_state(self.document, self.checked.problems, self.checked.warnings)


def open_editor(document: str, choices: Choices) -> Editor:
    """Return the editor for a saved document."""
    checked = check_scenario(document, files=choices.files)
    filled_form = document_form.build_form(
        checked.data, checked.problems, snapshots=choices.snapshots, files=choices.files
    )
    return Editor(document, document, checked, filled_form)


def open_posted(fields: Mapping[str, str], choices: Choices) -> Editor:
    """Return the editor for posted fields and YAML, with the effect of a pressed button."""
    document = normalise_text(fields.get("document", ""))
    # Browsers post line ends as CRLF.
    base = normalise_text(fields.get("base_document", document))
    try:
        if "base_document" in fields:
            document = document_form.apply_posted(document, base, fields)
        document = _apply_button(document, fields)
    except MarkedDocumentError:
        return _unreadable_editor(document, base, fields, choices)
    return open_editor(document, choices)


def _apply_button(document: str, fields: Mapping[str, str]) -> str:
    """Apply a button that changes the document; its value is a section and a position, such as ``changes.2``."""
    for section in document_form.SECTIONS:
        if f"add_{section}" in fields:
            return document_form.add_item(document, section, fields.get(f"new_{section}", ""))
    for button, act in (("remove", document_form.remove_item), ("earlier", document_form.move_earlier)):
        section, _, index = fields.get(button, "").partition(".")
        # Longer numbers are not positions, and int() of a huge one is slow.
        if index.isdecimal() and len(index) < 6:
            return act(document, section, int(index))
    return document


def _unreadable_editor(document: str, base: str, fields: Mapping[str, str], choices: Choices) -> Editor:
    """Return the editor for invalid YAML; the form keeps its fields until they can be written into a valid document."""
    try:
        data = parse_document(
            document_form.apply_posted(base, base, fields) if "base_document" in fields else base
        ).data
    except MarkedDocumentError:
        base, data = "", {}
    filled_form = document_form.build_form(data, [], snapshots=choices.snapshots, files=choices.files)
    return Editor(document, base, check_scenario(document), filled_form)
