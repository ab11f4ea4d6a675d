"""Templates are reviewed like any other source: no line of one is so long that nobody reads it."""

from __future__ import annotations

from tests.conftest import ROOT

TEMPLATES = ROOT / "frontend" / "templates"
WIDEST = 140  # columns


def test_no_line_of_a_template_is_too_long() -> None:
    sources = {path: path.read_text().splitlines() for path in sorted(TEMPLATES.rglob("*.html"))}
    assert len(sources) > 200
    assert [
        f"{path.relative_to(TEMPLATES)}:{number} has {len(line)} columns"
        for path, lines in sources.items()
        for number, line in enumerate(lines, 1)
        if len(line) > WIDEST
    ] == []
