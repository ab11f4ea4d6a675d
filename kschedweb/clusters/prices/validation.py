"""Checks a price table's text with the engine, and gives every problem its line."""

from __future__ import annotations

from dataclasses import dataclass, field

from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    parse_document,
    place_problem,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.price_table import PriceTable, TableError, read_price_table


@dataclass(frozen=True)
class CheckedPrices:
    """A text with its problems."""

    text: str
    # None if the text is not YAML.
    document: MarkedDocument | None
    # None if the document is no price table.
    table: PriceTable | None
    errors: list[MarkedProblem] = field(default_factory=list)

    @property
    def data(self) -> Json:
        """The text as plain data; empty if it is not a mapping."""
        data = self.document.data if self.document else None
        return data if isinstance(data, dict) else {}


def check_prices(text: str) -> CheckedPrices:
    """Check ``text`` with the engine. Bad input never raises; it becomes errors."""
    try:
        document = parse_document(text)
    except MarkedDocumentError as error:
        return CheckedPrices(text, None, None, [error.problem])
    try:
        return CheckedPrices(text, document, read_price_table(document.data))
    except TableError as error:
        return CheckedPrices(
            text,
            document,
            None,
            [place_problem(document, problem.path, _upper_first(problem.text)) for problem in error.problems],
        )


def _upper_first(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
