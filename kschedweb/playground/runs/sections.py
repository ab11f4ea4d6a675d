"""The sections of a run's page about actors of the simulation: what each did, as a table and as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kschedweb.web.tables import RowTable

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome

# Rows of a table on the page; a file has all.
ROWS_SHOWN = 50
TIME_CELL = "playground/runs/cells/time.html"
Rows = Sequence[Any]


@dataclass(frozen=True)
class RunSection:
    """The actions of an actor in a run."""

    title: str
    # Returns whether the run had such an actor.
    is_there: Callable[[RunOutcome], bool]
    table: RowTable
    rows: Callable[[RunOutcome], Rows]
    # Sentences above the table.
    sentences: Callable[[RunOutcome], list[str]] = lambda outcome: []
    # The sentence in place of an empty table.
    nothing: Callable[[RunOutcome], str] = lambda outcome: ""
    # A template above the sentences, and what it needs.
    template: str = ""
    context: Callable[[RunOutcome], Mapping[str, object]] = lambda outcome: {}
    # Further tables, which only files have, with the label of their button.
    files: tuple[tuple[RowTable, Callable[[RunOutcome], Rows], str], ...] = field(default=())

    def show(self, outcome: RunOutcome) -> dict[str, object]:
        """Return the context of playground/runs/section.html."""
        rows = self.rows(outcome)
        return {
            "title": self.title,
            "table": self.table,
            "rows": rows[:ROWS_SHOWN],
            "total": len(rows),
            "sentences": self.sentences(outcome),
            "nothing": self.nothing(outcome),
            "template": self.template,
            "files": [(table.name, label) for table, _, label in self.files],
            **self.context(outcome),
        }

    def list_files(self) -> dict[str, tuple[RowTable, Callable[[RunOutcome], Rows]]]:
        """Return the tables of files, with their rows, by name."""
        files = [(self.table, self.rows), *((table, rows) for table, rows, _ in self.files)]
        return {table.name: (table, rows) for table, rows in files}
