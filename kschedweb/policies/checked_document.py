"""Check results for documents that are not kube-scheduler's own. Every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from kschedweb.engine.documents.marked_documents import MarkedDocument, MarkedProblem
from kschedweb.policies.validation import LINE, split_quoted_path

if TYPE_CHECKING:
    from kschedweb.web.errors import FieldProblem

Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class CheckedDocument(Generic[Loaded]):
    """A text with the engine's findings."""

    notes: ClassVar[list[FieldProblem]] = []
    secrets: ClassVar[list[MarkedProblem]] = []
    conversion: ClassVar[None] = None

    # The document as it was passed in.
    text: str
    # The parsed YAML; None if the text is not YAML.
    document: MarkedDocument | None
    # The engine's own object for the document; None if it refuses the document.
    loaded: Loaded | None = None
    # Why the engine refuses the document.
    errors: list[MarkedProblem] = field(default_factory=list)
    # Problems that do not keep the document from being saved.
    warnings: list[MarkedProblem] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.loaded is not None


def mark_problem(path: str, message: str, document: MarkedDocument) -> MarkedProblem:
    """Return a problem placed at the field ``path``."""
    keys = split_quoted_path(path)
    line, column, end = document.place(keys)
    return MarkedProblem(message, path, line, column, end, keys)


def problem_of_line(path: str, message: str) -> MarkedProblem | None:
    """Return the problem if its message names a line itself and it has no path; otherwise ``None``."""
    match = None if path else LINE.search(message)
    # A message may name line 0, but the first line of the editor is 1.
    return MarkedProblem(message, line=max(int(match[1]), 1)) if match else None
