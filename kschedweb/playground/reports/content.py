"""The content of a report: one file for people without access to the site, as HTML, JSON or CSV.

All three have the same content, with limits: MOST_ROWS rows of each list, MOST_NOTES notes, MOST_TEXT characters of
each document. The file says what is left out. Charts are those of the pages, with the same limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from datetime import datetime

    from kschedweb.engine.studies.measure.spec import SpecGroup
    from kschedweb.web.figures import Chart

MOST_ROWS, MOST_NOTES, MOST_TEXT = 500, 200, 200_000
CSV_HEAD = ("part", "policy", "seed", "name", "value", "unit", "direction", "text", "group")


@dataclass(frozen=True)
class Listing:
    """The first rows of a table."""

    name: str
    label: str
    head: list[str]
    rows: list[list[object]]
    # Number of rows of the whole table.
    total: int
    # The sentence in place of an empty table.
    nothing: str

    @property
    def left_out(self) -> int:
        return self.total - len(self.rows)


@dataclass(frozen=True)
class ReportDocument:
    """A text of the report."""

    label: str
    text: str
    # False if the text was cut at MOST_TEXT.
    whole: bool = True

    @classmethod
    def from_text(cls, label: str, text: str) -> ReportDocument:
        return cls(label, text[:MOST_TEXT], len(text) <= MOST_TEXT)


class ReportedMeasure(Protocol):
    """A measure of a run or of an experiment."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> SpecGroup: ...
    @property
    def label(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def direction(self) -> str: ...
    @property
    def sentence(self) -> str: ...


def measure_row(measure: ReportedMeasure, values: list[Json]) -> Json:
    """Return the row of a measure: ``values`` have "policy", "seed", "value" and "text" of each run."""
    return {
        "name": measure.name,
        "group": measure.group.name,
        "label": measure.label,
        "unit": measure.unit,
        "better": measure.direction,
        "sentence": measure.sentence,
        "values": values,
    }


@dataclass
class ReportContent:
    """The content of a report."""

    # "run", "comparison" or "experiment".
    kind: str
    # Name of the file without what tells its format.
    stem: str
    title: str
    # Address of the page on the site.
    address: str
    made_at: datetime
    # Pairs of name and words.
    facts: list[tuple[str, str]]
    # Sentences without full stop, as in the two lists that follow.
    simulated: list[str]
    omitted: list[str]
    notes: list[str]
    # Notes before the cut at MOST_NOTES.
    notes_total: int
    # Further fields of JSON.
    plain: Json
    listings: list[Listing]
    documents: list[ReportDocument]
    # A row for each measure: name, group, unit, values.
    table: list[Json] = field(default_factory=list)
    # Triples of name, label and chart.
    maps: list[tuple[str, str, Chart]] = field(default_factory=list)
    # The template of the page.
    template: ClassVar[str] = "playground/reports/report.html"

    def to_dict(self) -> Json:
        """Return the content for JSON."""
        return {
            "kind": f"{self.kind.capitalize()}Report",
            "title": self.title,
            "address": self.address,
            "made_at": self.made_at.isoformat(),
            **self.plain,
            "simulated": self.simulated,
            "not_simulated": self.omitted,
            "notes": self.notes,
            "notes_total": self.notes_total,
            "measures": self.table,
            "lists": [
                {
                    "name": listing.name,
                    "total": listing.total,
                    "rows": [dict(zip(listing.head, row, strict=True)) for row in listing.rows],
                }
                for listing in self.listings
            ],
            "documents": [
                {"name": document.label, "text": document.text, "whole": document.whole} for document in self.documents
            ],
        }

    def csv_rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows of CSV, with the columns of CSV_HEAD."""
        yield "about", "", "", "title", "", "", "", self.title, ""
        for name, words in self.facts:
            yield "about", "", "", name, "", "", "", words, ""
        for part, listed in (("simulated", self.simulated), ("not simulated", self.omitted), ("note", self.notes)):
            for words in listed:
                yield part, "", "", "", "", "", "", words, ""
        for measure in self.table:
            for entry in measure["values"]:
                cells = (
                    measure["name"],
                    entry["value"],
                    measure["unit"],
                    measure["better"],
                    measure["label"],
                    measure["group"],
                )
                yield "measure", entry["policy"], entry["seed"], *cells
        for listing in self.listings:
            for row in listing.rows:
                words = "; ".join(f"{name}: {cell}" for name, cell in zip(listing.head, row, strict=True) if cell != "")
                yield listing.name, "", "", row[0], "", "", "", words, ""
