"""Charts as plain Plotly dicts; charts.ts adds the theme's colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Chart:
    """A Plotly figure, a sentence that says what it shows, and its numbers as a table."""

    figure: dict[str, Any]
    summary: str
    head: list[str]
    rows: list[list[object]]
