"""A scenario as a document: read from JSON or YAML values, with every error under its path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedweb.engine.studies.document.keys import DOCUMENT, KIND, VERSION
from kschedweb.engine.studies.document.parts import Document
from kschedweb.engine.studies.document.shape import Problem

MOST_PROBLEMS = 100
__all__ = ["KIND", "VERSION", "Document", "DocumentError", "Problem", "read"]


class DocumentError(ValueError):
    """A scenario that cannot be run; ``problems`` says where and why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(map(str, self.problems)))


def read(raw: Any) -> Document:
    """The document ``raw``; raises DocumentError with all that is wrong, the first hundred problems at most."""
    problems: list[Problem] = []
    document = DOCUMENT.read(raw, "", problems)
    if problems:
        raise DocumentError(problems[:MOST_PROBLEMS])
    assert isinstance(document, Document)
    return document
