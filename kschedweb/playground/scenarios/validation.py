"""Validate a scenario's text with the engine; every problem has its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.documents.marked_documents import MarkedDocument as Text
from kschedweb.engine.documents.marked_documents import MarkedDocumentError as TextError
from kschedweb.engine.documents.marked_documents import MarkedProblem, Path, parse_document, path_of, place_problem
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.document import ScenarioDocument, ScenarioError, read_scenario
from kschedweb.engine.studies.document.refusals import refuse_document
from kschedweb.playground.scenarios.models import NAME_LIMIT

DESCRIPTION_LIMIT = 500
# A document can have thousands of objects with the same mistake.
MOST_WARNINGS = 200


@dataclass(frozen=True)
class CheckedScenario:
    """A text with its problems."""

    text: str
    # None if the text is not YAML.
    parsed: Text | None
    # None if the engine does not accept the text.
    document: ScenarioDocument | None
    problems: list[MarkedProblem]
    # Reasons for which an API server would refuse its objects, which are taken as they stand.
    warnings: list[MarkedProblem] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.document is not None and not self.problems

    @property
    def data(self) -> Json:
        """The text as plain data; empty if it is not a mapping."""
        data = self.parsed.data if self.parsed else None
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
        """The name of the file with the collected figures of that snapshot; "" if none is needed."""
        return "" if self.document is None else self.document.use.figures_file(self.snapshot)

    @property
    def files(self) -> list[tuple[Path, str]]:
        """The files that the document names, by path in it."""
        return list(_named_files(self.data))


def check_scenario(text: str, *, files: Iterable[str] | None = None) -> CheckedScenario:
    """Read ``text`` with the engine, and check that the files that it names are in ``files``.

    With ``None``, files are not checked. Never raises for bad input.
    """
    try:
        parsed = parse_document(text)
    except TextError as error:
        return CheckedScenario(text, None, None, [error.problem])
    document, problems = None, []
    try:
        document = read_scenario(parsed.data)
    except ScenarioError as error:
        problems = [place_problem(parsed, problem.path, problem.text) for problem in error.problems]
    warnings = [
        place_problem(parsed, refusal.path, refusal.text) for refusal in refuse_document(parsed.data)[:MOST_WARNINGS]
    ]
    checked = CheckedScenario(text, parsed, document, problems, warnings)
    if document is not None:
        problems += _site_problems(checked)
        problems += _missing_files(checked, set(files)) if files is not None else []
    return checked


def _site_problems(checked: CheckedScenario) -> Iterator[MarkedProblem]:
    """Yield problems that the site has with a document, but not the engine."""
    assert checked.parsed is not None
    name, description = checked.name.strip(), str(checked.data.get("description") or "")
    if not name:
        yield place_problem(checked.parsed, "name", "A scenario needs a name.")
    # The name becomes a slug, which must not be empty.
    elif not any(letter.isalnum() for letter in name) or not name.isprintable():
        yield place_problem(checked.parsed, "name", "A name is one line with at least one letter or digit.")
    elif len(name) > NAME_LIMIT:
        yield place_problem(checked.parsed, "name", f"A name has at most {NAME_LIMIT} characters.")
    if len(description) > DESCRIPTION_LIMIT:
        yield place_problem(checked.parsed, "description", f"A description has at most {DESCRIPTION_LIMIT} characters.")


def _missing_files(checked: CheckedScenario, names: set[str]) -> Iterator[MarkedProblem]:
    assert checked.parsed is not None
    for keys, name in checked.files:
        if name not in names:
            message = f"There is no file {name} in this scenario: upload it under Files, or name another one."
            yield place_problem(checked.parsed, path_of(keys), message)


def _named_files(data: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the files that the document names, each with its path."""
    # Kubernetes objects and manifests have fields named `file` of their own.
    if path and path[0] == "objects":
        return
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "file" and isinstance(value, str):
                yield (*path, key), value
            elif key != "manifest":
                yield from _named_files(value, (*path, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _named_files(item, (*path, index))
