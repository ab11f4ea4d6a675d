"""Editors of documents other than kube-scheduler's: the YAML, and a form that is written into it.

A posted form is compared with the document from which it was filled (the base), and only differences are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    Path,
    normalise_text,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.policies.dialect import CheckedText, EditorState
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.editor import build_state
from kschedweb.policies.editing.release_tables import Schema
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.editing.yaml_edits import rewrite_yaml

Text = TypeVar("Text", bound=CheckedText)
CheckT = TypeVar("CheckT", bound="DocumentCheck")
Runs = TypeVar("Runs")
Editor = TypeVar("Editor")


class DocumentCheck(Protocol):
    """A text with its problems."""

    @property
    # The parsed text; None if it is not YAML.
    def document(self) -> MarkedDocument | None: ...
    @property
    def errors(self) -> list[MarkedProblem]: ...


@dataclass
class DocumentEditor(EditorState[Text, Runs], Generic[Text, Runs]):
    """The editor of a document and its form."""

    document: str
    # The document from which the form was filled; posted fields are compared with it.
    base: str
    checked: Text
    fields: list[FormField]
    process: Json = field(default_factory=dict)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def state(self) -> Json:
        """The state for the page's script."""
        return build_state(self.document, self.problems, self.checked.warnings)


@dataclass(frozen=True)
class Items:
    """A list at the top of a document, with a group in the form for each item."""

    # The key of the list in the document.
    key: str
    # New items are named by this and a number that is still free.
    prefix: str
    # Makes an item of its name.
    make: Callable[[str], Json]
    # Reads the name of an item.
    name: Callable[[Json], Any]

    def list_items(self, data: Json) -> list[Json]:
        """Return the items. Entries that are no objects have no group in the form."""
        return [item for item in as_list(data.get(self.key)) if isinstance(item, dict)]

    def apply_button(self, data: Json, posted: Posted) -> Json:
        """Return ``data`` after a button: "add_item" adds an item, "remove_item" removes one unless it is the last."""
        listed, items = as_list(data.get(self.key)), self.list_items(data)
        if "add_item" in posted:
            used = {self.name(item) for item in items}
            name = next(name for number in range(1, len(items) + 2) if (name := f"{self.prefix}-{number}") not in used)
            return {**data, self.key: [*listed, self.make(name)]}
        number = posted.get("remove_item", "")
        if number.isdecimal() and len(number) < 6 and int(number) < len(items) > 1:
            return {**data, self.key: [item for item in listed if item is not items[int(number)]]}
        return data


@dataclass(frozen=True)
class DocumentForm(Generic[CheckT, Editor]):
    """The functions that make an editor of a document and write its form back."""

    # Makes the editor of the document, its base, the checked text and the fields.
    make: Callable[[str, str, CheckT, list[FormField]], Editor]
    check: Callable[[str], CheckT]
    # Builds the fields of a document's data, with the problems beside them.
    fields: Callable[[Json, list[MarkedProblem]], list[FormField]]
    # Writes a posted form into the first data where it differs from the second, which the form showed.
    write: Callable[[Json, Json, Posted], None]
    # The list that the form's buttons add to and remove from.
    items: Items | None = None

    def open_editor(self, document: str) -> Editor:
        """Return the editor for a saved document."""
        checked = self.check(document)
        data = as_dict(checked.document.data) if checked.document else {}
        return self.make(document, document, checked, self.fields(data, checked.errors))

    def read_posted(self, posted: Mapping[str, str]) -> Editor:
        """Return the editor for posted fields and YAML. Changes of the form against its base are written into the
        YAML.
        """
        document = normalise_text(posted.get("document", ""))
        base = normalise_text(posted.get("base", document))
        try:
            updated = self._apply_form(document, base, posted) if "base" in posted else document
            return self.open_editor(self._apply_button(updated, posted))
        except MarkedDocumentError:
            return self._open_unreadable(document, base, posted)

    def _apply_form(self, document: str, base: str, posted: Posted) -> str:
        """Return ``document`` with the changes of the form. Raises MarkedDocumentError if one of the two is not
        YAML.
        """
        data, base_data = as_dict(parse_document(document).data), as_dict(parse_document(base).data)
        target = deepcopy(data)
        self.write(target, base_data, posted)
        return document if target == data else rewrite_yaml(document, target)

    def _apply_button(self, document: str, posted: Posted) -> str:
        """Return ``document`` after a button of the form. Raises MarkedDocumentError if it is not YAML."""
        if self.items is None or not posted.keys() & {"add_item", "remove_item"}:
            return document
        data = as_dict(parse_document(document).data)
        target = self.items.apply_button(data, posted)
        return document if target == data else rewrite_yaml(document, target)

    def _open_unreadable(self, document: str, base: str, posted: Posted) -> Editor:
        """Return the editor for text that is not YAML. The form keeps its fields until they can be written into a
        valid document.
        """
        try:
            data = parse_document(self._apply_form(base, base, posted) if "base" in posted else base).data
        except MarkedDocumentError:
            base, data = "", {}
        return self.make(document, base, self.check(document), self.fields(as_dict(data), []))


def read_changed_value(schema: Schema, name: str, base_value: Any, current: Any, posted: Posted) -> Any:
    """Return ``current`` with what the posted field ``name`` changes of ``base_value``, which it showed."""
    return arguments.overlay_changes(
        arguments.shown_value(schema, base_value), arguments.read_value(schema, name, posted), current
    )


def get_at_path(data: Any, path: Path) -> Any:
    """Return the value at ``path``; ``ABSENT`` if there is none."""
    for step in path:
        if not isinstance(data, dict) or step not in data:
            return ABSENT
        data = data[step]
    return data


def set_at_path(data: Json, path: Path, value: Any) -> None:
    """Set ``value`` at ``path``; ``ABSENT`` removes what is there."""
    if value is ABSENT:
        parent = get_at_path(data, path[:-1]) if path[:-1] else data
        if isinstance(parent, dict):
            parent.pop(str(path[-1]), None)
        return
    for step in path[:-1]:
        data = data.setdefault(str(step), {})
    data[str(path[-1])] = value
