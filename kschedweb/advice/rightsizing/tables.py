"""The tables of right-sizing; lists/apps.py imports this module."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext

from kschedweb.advice.rightsizing.sizing import UNBOUNDED
from kschedweb.advice.rightsizing.words import format_saving
from kschedweb.web.tables import Column, RowTable, Table, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import in_column

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import ContainerSize, SizeAmount

# Millicores or bytes. A higher upper bound only means that there is too little history.
HIGHEST = {"cpu": 10_000_000, "memory": UNBOUNDED}


def _render_upper(amount: SizeAmount, resource: str) -> str:
    return in_column(amount.upper, resource) if amount.upper < HIGHEST[resource] else ""


def _amounts(resource: str, requested: str, target: str, bounds: str, saved: str) -> tuple[Column, ...]:
    """Return the columns of a resource, with these labels. Without history only requests are known."""

    def read(name: str) -> Callable[[ContainerSize], int | None]:
        return lambda size: getattr(getattr(size, resource), name) if size.has_history else None

    def render_bounds(size: ContainerSize) -> str | None:
        amount: SizeAmount = getattr(size, resource)
        lower, upper = in_column(amount.lower, resource), _render_upper(amount, resource)
        return f"{lower}–{upper}" if size.has_history else None

    unit_form = f'in_column:"{resource}"'
    return (
        Column(f"{resource}-requested", requested, "number", value=f"{resource}.requested", form=unit_form),
        Column(f"{resource}-target", target, "number", value=read("target"), form=unit_form, absent=_("No history")),
        Column(f"{resource}-bounds", bounds, "number", cell=render_bounds, exported=False),
        Column(f"{resource}_lower", value=read("lower")),
        Column(f"{resource}_upper", value=read("upper")),
        Column(
            f"{resource}-saved",
            saved,
            "number",
            sort=resource,
            value=read("saved"),
            form=lambda amount: format_saving(amount, resource),
        ),
    )


SIZES = Table(
    "right-sizes",
    _("Requests against recommendations"),
    (
        Column("namespace"),
        Column("workload", value=lambda size: size.workload.split("/", 1)[1]),
        Column("container"),
        Column("name", _("Workload and container"), sort="name", cell_css="name", exported=False),
        Column("pods", _("Pods"), "number", sort="pods"),
        *_amounts(
            "cpu", _("CPU requested (cores)"), _("CPU target (cores)"), _("CPU bounds (cores)"), _("CPU saved (cores)")
        ),
        *_amounts(
            "memory",
            _("Memory requested (GiB)"),
            _("Memory target (GiB)"),
            _("Memory bounds (GiB)"),
            _("Memory saved (GiB)"),
        ),
        Column(
            "hour",
            _("Saved an hour"),
            "number",
            sort="hour",
            measured=True,
            value=lambda size: round(size.hour, 6) if size.has_history and size.hour == size.hour else None,
            form=lambda amount: format_saving(amount, "money"),
        ),
        Column(
            "days",
            _("History (days)"),
            "number",
            sort="days",
            value=lambda size: round(size.days, 3),
            cell=lambda size: floatformat(size.days, 2) if size.has_history else 0,
        ),
        *file_columns("samples"),
    ),
    marks={"data-container": "name"},
    css="wrap-heads",
    page="right-sizing",
    also=("ordering", "method", "search", "show", "namespace"),
)
register_tables(SIZES)


def _amount(key: str, label: str, *, of_limit: bool = False) -> Column:
    """Return the column of an amount; one ``of_limit`` is of containers that have a limit."""

    def render(row: tuple[str, SizeAmount]) -> str:
        resource, amount = row
        return in_column(getattr(amount, key), resource) if amount.limit or not of_limit else gettext("none")

    return Column(key, label, "number", cell=render)


# Rows are a resource and its amount.
AMOUNTS = RowTable(
    "amounts",
    _("Requests and targets"),
    (
        Column(
            "resource",
            _("A pod"),
            cell_css="name",
            cell=lambda row: gettext("CPU (cores)") if row[0] == "cpu" else gettext("Memory (GiB)"),
        ),
        _amount("requested", _("Requested")),
        _amount("target", _("Target")),
        _amount("lower", _("Lower bound")),
        Column(
            "upper", _("Upper bound"), "number", cell=lambda row: _render_upper(row[1], row[0]), absent=_("none yet")
        ),
        _amount("limit", _("Limit"), of_limit=True),
        _amount("new_limit", _("New limit"), of_limit=True),
    ),
    css="",
)
PAST = RowTable(
    "past",
    _("What was short"),
    (
        Column("container", _("Container"), cell_css="name"),
        Column("above_request", _("Hours above the CPU request"), "number", form="floatformat:1"),
        Column("throttled", _("Hours throttled"), "number", form="floatformat:1"),
        Column("memory_above_request", _("Hours above the memory request"), "number", form="floatformat:1"),
        Column("kills", _("Kills"), "number"),
    ),
)
