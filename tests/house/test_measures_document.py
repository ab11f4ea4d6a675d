"""docs/comparisons.md has every measure, as the registry declares it."""

from __future__ import annotations

from pathlib import Path

from kschedweb.engine.studies.measure.registry import GROUPS, MEASURES
from kschedweb.engine.studies.measure.spec import CURRENCY, PLACE, MeasureSpec

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "comparisons.md"


def row(spec: MeasureSpec) -> str:
    name = spec.name.replace(PLACE, "*")
    unit = spec.unit.replace(CURRENCY, "currency")
    better = f", {spec.direction} is better" if spec.direction else ""
    cells = f"`{name}`", f"`{spec.group.name}`", f"{unit}{better}", spec.population, spec.window, spec.when or "–"
    return f"| {' | '.join(cells)} |"


def test_the_document_has_every_measure_with_its_definition() -> None:
    lines = DOCUMENT.read_text().splitlines()
    ordered_measures = sorted(MEASURES, key=lambda spec: GROUPS.index(spec.group))
    documented_rows = [line for line in lines if line.startswith("| `") and line.count("|") == 7]
    assert documented_rows == [row(spec) for spec in ordered_measures]
