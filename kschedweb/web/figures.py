"""Charts as plain Plotly dicts; charts.ts gives them the theme's colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Chart:
    """A figure, one sentence that says what it shows, and the same numbers as a table."""

    figure: dict[str, Any]
    summary: str
    head: list[str]
    rows: list[list[object]]
