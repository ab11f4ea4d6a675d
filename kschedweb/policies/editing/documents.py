"""Editors of documents other than kube-scheduler's: the YAML, and a form that is written into it.

A posted form is compared with the document from which it was filled (the base), and only differences are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, Path, normalised, parse
from kschedweb.policies.dialect import CheckedText, EditorState
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field, Posted, Schema
from kschedweb.policies.editing.editor import state
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.switches import as_dict, as_list

Text = TypeVar("Text", bound=CheckedText)
Found = TypeVar("Found", bound="Checked")
Runs = TypeVar("Runs")
Editor = TypeVar("Editor")
Json = dict[str, Any]


class Checked(Protocol):
    """A text with what is wrong in it; ``document`` is ``None`` if it is no YAML."""

    @property
    def document(self) -> Document | None: ...
    @property
    def errors(self) -> list[MarkedProblem]: ...


@dataclass
class DocumentEditor(EditorState[Text, Runs], Generic[Text, Runs]):
    """The editor; ``base`` is the document from which the form was filled."""

    document: str
    base: str
    checked: Text
    fields: list[Field]
    process: Json = field(default_factory=dict)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def state(self) -> Json:
        """The state for the page's script."""
        return state(self.document, self.problems, self.checked.warnings)


@dataclass(frozen=True)
class Items:
    """A list at the top of a document, each item with a group in the form. Items get names that none has:
    ``prefix`` and a number; ``make`` makes one of its name."""

    key: str
    prefix: str
    make: Callable[[str], Json]
    name: Callable[[Json], Any]

    def of(self, data: Json) -> list[Json]:
        """The items; what is none of them has no group."""
        return [one for one in as_list(data.get(self.key)) if isinstance(one, dict)]

    def changed(self, data: Json, posted: Posted) -> Json:
        """``data`` with what was pressed: a new item ("add_item"), or one less ("remove_item"), but for the last."""
        listed, items = as_list(data.get(self.key)), self.of(data)
        if "add_item" in posted:
            used = {self.name(one) for one in items}
            name = next(name for number in range(1, len(items) + 2) if (name := f"{self.prefix}-{number}") not in used)
            return {**data, self.key: [*listed, self.make(name)]}
        number = posted.get("remove_item", "")
        if number.isdecimal() and len(number) < 6 and int(number) < len(items) > 1:
            return {**data, self.key: [one for one in listed if one is not items[int(number)]]}
        return data


@dataclass(frozen=True)
class DocumentForm(Generic[Found, Editor]):
    """``fields`` are those of a document's data with problems beside them; ``write`` puts a posted form into the data
    ``target`` by how it differs from the data ``shown``. Buttons add to ``items`` and take away."""

    make: Callable[[str, str, Found, list[Field]], Editor]
    check: Callable[[str], Found]
    fields: Callable[[Json, list[MarkedProblem]], list[Field]]
    write: Callable[[Json, Json, Posted], None]
    items: Items | None = None

    def opened(self, document: str) -> Editor:
        """The editor for a saved document."""
        checked = self.check(document)
        data = as_dict(checked.document.data) if checked.document else {}
        return self.make(document, document, checked, self.fields(data, checked.errors))

    def posted(self, posted: Mapping[str, str]) -> Editor:
        """The editor for posted fields and YAML: what differs from the form's base is written into the YAML."""
        document = normalised(posted.get("document", ""))
        base = normalised(posted.get("base", document))
        try:
            written = self._applied(document, base, posted) if "base" in posted else document
            return self.opened(self._pressed(written, posted))
        except DocumentError:
            return self._unreadable(document, base, posted)

    def _applied(self, document: str, base: str, posted: Posted) -> str:
        """``document`` with the changes of the form. Raises DocumentError if one of the two is not YAML."""
        data, shown = as_dict(parse(document).data), as_dict(parse(base).data)
        target = deepcopy(data)
        self.write(target, shown, posted)
        return document if target == data else rewrite(document, target)

    def _pressed(self, document: str, posted: Posted) -> str:
        """``document`` after a button of the form. Raises DocumentError if it is not YAML."""
        if self.items is None or not posted.keys() & {"add_item", "remove_item"}:
            return document
        data = as_dict(parse(document).data)
        target = self.items.changed(data, posted)
        return document if target == data else rewrite(document, target)

    def _unreadable(self, document: str, base: str, posted: Posted) -> Editor:
        """The editor for text that is no YAML; the form keeps its fields until they can be written into one that is."""
        try:
            data = parse(self._applied(base, base, posted) if "base" in posted else base).data
        except DocumentError:
            base, data = "", {}
        return self.make(document, base, self.check(document), self.fields(as_dict(data), []))


def changed(schema: Schema, name: str, shown: Any, current: Any, posted: Posted) -> Any:
    """``current`` with what a person changed of the field ``name``, which showed the value ``shown``."""
    return arguments.overlay(arguments.shown_value(schema, shown), arguments.read(schema, name, posted), current)


def at(data: Any, path: Path) -> Any:
    """The value at ``path``, ABSENT for none."""
    for step in path:
        if not isinstance(data, dict) or step not in data:
            return ABSENT
        data = data[step]
    return data


def put(data: Json, path: Path, value: Any) -> None:
    """Set ``value`` at ``path``; what is absent is taken away where it stands."""
    if value is ABSENT:
        parent = at(data, path[:-1]) if path[:-1] else data
        if isinstance(parent, dict):
            parent.pop(str(path[-1]), None)
        return
    for step in path[:-1]:
        data = data.setdefault(str(step), {})
    data[str(path[-1])] = value
