"""Validates a scenario's text with the engine; every problem has its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.documents.marked import Document as Text
from kschedweb.engine.documents.marked import DocumentError as TextError
from kschedweb.engine.documents.marked import MarkedProblem, Path, parse, path_of, placed
from kschedweb.engine.studies.document.document import Document, DocumentError, read
from kschedweb.engine.studies.document.refused import refused
from kschedweb.playground.scenarios.models import NAME_LIMIT

DESCRIPTION_LIMIT = 500
MOST_WARNINGS = 200


@dataclass(frozen=True)
class Checked:
    """A text with its problems; ``document`` is ``None`` if the engine does not accept it.

    ``warnings`` are what an API server would refuse of its objects, which are taken as they stand.
    """

    text: str
    written: Text | None
    document: Document | None
    problems: list[MarkedProblem]
    warnings: list[MarkedProblem] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.document is not None and not self.problems

    @property
    def data(self) -> dict[str, Any]:
        """The text as plain data; empty if it is not a mapping."""
        data = self.written.data if self.written else None
        return data if isinstance(data, dict) else {}

    @property
    def name(self) -> str:
        return str(self.data.get("name") or "")

    @property
    def snapshot(self) -> str:
        """The id of the snapshot at the start; "" if there is none."""
        base = self.data.get("base")
        return str(base.get("snapshot") or "") if isinstance(base, dict) else ""

    @property
    def figures(self) -> str:
        """The file with the collected figures of that snapshot; "" if none is needed."""
        return "" if self.document is None else self.document.use.figures(self.snapshot)

    @property
    def files(self) -> list[tuple[Path, str]]:
        """The named files by path in the document."""
        return list(_files(self.data))


def check(text: str, *, files: Iterable[str] | None = None) -> Checked:
    """Read ``text`` with the engine, and check that the files that it names are in ``files``.

    With ``None``, files are not checked. Never raises for bad input.
    """
    try:
        written = parse(text)
    except TextError as error:
        return Checked(text, None, None, [error.problem])
    document, problems = None, []
    try:
        document = read(written.data)
    except DocumentError as error:
        problems = [placed(written, found.path, found.text) for found in error.problems]
    warnings = [placed(written, found.path, found.text) for found in refused(written.data)[:MOST_WARNINGS]]
    checked = Checked(text, written, document, problems, warnings)
    if document is not None:
        problems += _own(checked)
        problems += _missing(checked, set(files)) if files is not None else []
    return checked


def _own(checked: Checked) -> Iterator[MarkedProblem]:
    """Problems that only the site has, not the engine."""
    assert checked.written is not None
    name, description = checked.name.strip(), str(checked.data.get("description") or "")
    if not name:
        yield placed(checked.written, "name", "A scenario needs a name.")
    elif not any(letter.isalnum() for letter in name) or not name.isprintable():
        yield placed(checked.written, "name", "A name is one line with at least one letter or digit.")
    elif len(name) > NAME_LIMIT:
        yield placed(checked.written, "name", f"A name has at most {NAME_LIMIT} characters.")
    if len(description) > DESCRIPTION_LIMIT:
        yield placed(checked.written, "description", f"A description has at most {DESCRIPTION_LIMIT} characters.")


def _missing(checked: Checked, known: set[str]) -> Iterator[MarkedProblem]:
    assert checked.written is not None
    for keys, name in checked.files:
        if name not in known:
            said = f"There is no file {name} in this scenario: upload it under Files, or name another one."
            yield placed(checked.written, path_of(keys), said)


def _files(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if path and path[0] == "objects":
        return
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "file" and isinstance(value, str):
                yield (*path, key), value
            elif key != "manifest":
                yield from _files(value, (*path, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _files(item, (*path, index))
