"""Read a scenario document from plain data; every problem has its path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.studies.document.keys import DOCUMENT, KIND, VERSION
from kschedweb.engine.studies.document.parts import ScenarioDocument

# Problems that are reported at once.
MOST_PROBLEMS = 100
__all__ = ["KIND", "VERSION", "DocumentProblem", "PartError", "ScenarioDocument", "ScenarioError", "read_scenario"]


class ScenarioError(ValueError):
    """An invalid scenario; ``problems`` has the path and the text of each problem."""

    def __init__(self, problems: Sequence[DocumentProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(map(str, self.problems)))


class PartError(ValueError):
    """A part of the document that is impossible in this cluster; ``key`` is the path within the part."""

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text)
        self.text, self.key = text, key

    def problem_at(self, path: str) -> DocumentProblem:
        """Return the problem of the part at ``path``."""
        return DocumentProblem(f"{path}{'' if self.key.startswith('[') or not self.key else '.'}{self.key}", self.text)


def read_scenario(raw: Any) -> ScenarioDocument:
    """Read the document ``raw``; raise DocumentError with all problems, at most a hundred."""
    problems: list[DocumentProblem] = []
    document = DOCUMENT.read(raw, "", problems)
    if problems:
        raise ScenarioError(problems[:MOST_PROBLEMS])
    assert isinstance(document, ScenarioDocument)
    return document
