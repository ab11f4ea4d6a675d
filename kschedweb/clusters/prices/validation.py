"""Validates a price table's text with the engine; every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, parse, placed
from kschedweb.engine.pricing.table import PriceTable, TableError, read


@dataclass(frozen=True)
class Checked:
    """A text with its problems: ``document`` is ``None`` for what is no YAML, ``table`` for what is no price table."""

    text: str
    document: Document | None
    table: PriceTable | None
    errors: list[MarkedProblem] = field(default_factory=list)

    @property
    def data(self) -> dict[str, Any]:
        """The text as plain data; empty if it is not a mapping."""
        data = self.document.data if self.document else None
        return data if isinstance(data, dict) else {}


def check(text: str) -> Checked:
    """Read ``text`` with the engine; never raises for bad input."""
    try:
        document = parse(text)
    except DocumentError as error:
        return Checked(text, None, None, [error.problem])
    try:
        return Checked(text, document, read(document.data))
    except TableError as error:
        return Checked(
            text, document, None, [placed(document, found.path, _said(found.text)) for found in error.problems]
        )


def _said(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
