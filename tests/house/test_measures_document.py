"""docs/comparisons.md has every measure, as the registry declares it."""

from __future__ import annotations

from tests.support import measures_table


def test_the_document_has_every_measure_with_its_definition() -> None:
    text = measures_table.write_document()
    assert text.count(measures_table.HEAD) == 1
    assert measures_table.DOCUMENT.read_text(encoding="utf-8") == text, "run make measures"
