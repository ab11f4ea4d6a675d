"""Plotly checks figures in Python and draws them in the browser: one of them must know what the other does."""

from __future__ import annotations

import json

from plotly.offline import get_plotlyjs_version

from tests.conftest import ROOT


def test_figures_are_checked_by_the_plotly_that_draws_them() -> None:
    pins = json.loads((ROOT / "frontend" / "package.json").read_text())["dependencies"]
    plotly_version = next(version for name, version in pins.items() if name.startswith("plotly.js"))
    assert plotly_version.partition(".")[0] == get_plotlyjs_version().partition(".")[0]
