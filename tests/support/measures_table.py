"""The table of measures in docs/comparisons.md; `make measures` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.engine.studies.measure.registry import MEASURES
from kschedweb.engine.studies.measure.spec import CURRENCY, PLACE, MeasureSpec

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "comparisons.md"
TABLE = re.compile(r"(?<=<!-- make measures -->\n\n)(?:\|.*\n)*")
HEAD = "| measure | group | unit | taken over | of | where there are |\n|---|---|---|---|---|---|\n"


def write_row(spec: MeasureSpec) -> str:
    better = f", {spec.direction} is better" if spec.direction else ""
    name, unit = spec.name.replace(PLACE, "*"), spec.unit.replace(CURRENCY, "currency")
    cells = f"`{name}`", f"`{spec.group.name}`", f"{unit}{better}", spec.population, spec.window, spec.when.label or "–"
    return f"| {' | '.join(cells)} |\n"


def write_document() -> str:
    """Return the document with the table of all measures, by group."""
    table = HEAD + "".join(map(write_row, sorted(MEASURES, key=lambda spec: GROUPS.index(spec.group))))
    return TABLE.sub(lambda _: table, DOCUMENT.read_text(encoding="utf-8"))


def main() -> None:
    DOCUMENT.write_text(write_document(), encoding="utf-8")


if __name__ == "__main__":
    main()
