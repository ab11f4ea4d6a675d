"""The table of an experiment's policies: its columns on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.template.defaultfilters import floatformat

from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _


def _figure(name: str, digits: int, unit: str = "") -> Callable[[Any], str]:
    """Return the cell of a figure of a row's policy, rounded to so many digits."""
    return lambda row: f"{floatformat(row[1][name], digits)}{unit}"


# Rows are a policy's name, its figures, and its skew in percent of that of the default policy.
POLICIES = RowTable(
    "policies",
    _("Measures"),
    (
        Column("policy", _("Policy"), value=lambda row: row[0]),
        Column("skew", _("Skew (points)"), "number", value=_figure("skew", 1)),
        Column(
            "relative",
            _("Relative to default"),
            "number",
            value=lambda row: None if row[2] is None else f"{floatformat(row[2], 0)} %",
        ),
        Column("worst_skew", _("Worst skew"), "number", value=_figure("worst_skew", 1)),
        Column("deviation", _("Standard deviation"), "number", value=_figure("deviation", 1)),
        Column("variation", _("Coefficient of variation"), "number", value=_figure("variation", 2)),
        Column("hottest", _("Hottest node"), "number", value=_figure("hottest", 0, " %")),
        Column("high_percent", _("Node hours above 80 %"), "number", value=_figure("high_percent", 1, " %")),
        Column("short_percent", _("Pod hours short of CPU"), "number", value=_figure("short_percent", 2, " %")),
    ),
    css="dense wrap-heads",
)
