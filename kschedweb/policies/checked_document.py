"""What the engine finds in documents that stand beside kube-scheduler's; every problem has its line."""

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
    """A text with the engine's findings; ``loaded`` is what it makes of it, ``document`` ``None`` if it is no YAML."""

    notes: ClassVar[list[FieldProblem]] = []
    secrets: ClassVar[list[MarkedProblem]] = []
    conversion: ClassVar[None] = None

    text: str
    document: MarkedDocument | None
    loaded: Loaded | None = None
    errors: list[MarkedProblem] = field(default_factory=list)
    warnings: list[MarkedProblem] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.loaded is not None


def mark_problem(path: str, message: str, document: MarkedDocument) -> MarkedProblem:
    """A problem at the place of the field ``path``."""
    keys = split_quoted_path(path)
    line, column, end = document.place(keys)
    return MarkedProblem(message, path, line, column, end, keys)


def problem_of_line(path: str, message: str) -> MarkedProblem | None:
    """A problem of the whole that names a line itself; ``None`` for any other one."""
    match = None if path else LINE.search(message)
    return MarkedProblem(message, line=max(int(match[1]), 1)) if match else None
