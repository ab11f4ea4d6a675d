"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from kschedweb.watermarks.usage.charts import round_or_none
from kschedweb.web.tables import Column, Table, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import whole_percent

if TYPE_CHECKING:
    from kschedweb.watermarks.usage.selectors import NodeUse


def _read_update(use: NodeUse) -> str | None:
    return use.moment.isoformat() if use.moment else None


def _read_ratio(use: NodeUse) -> float | None:
    return round_or_none(use.ratio, 2) if isfinite(use.ratio) else None


_IN_UNIT = "in_column:query.resource"
_ZONE = file_columns("zone")
_PODS = Column("pods", _("Pods"), "number", sort="pods")
_ALLOCATABLE = file_columns("allocatable")
_REQUESTED = Column("requested", _("Requested"), "number", sort="requested", measured=True, form=_IN_UNIT)
_USED = Column(
    "used", _("Used"), "number", sort="used", measured=True, value=lambda use: round_or_none(use.used, 0), form=_IN_UNIT
)
_UNUSED = (
    Column("ratio", _("Requested ÷ used"), "number", sort="ratio", value=_read_ratio, form="floatformat:2"),
    Column(
        "unused",
        _("Requested, not used"),
        "number",
        sort="unused",
        measured=True,
        value=lambda use: round_or_none(use.unused, 0),
        form=_IN_UNIT,
    ),
    Column("from", _("Data from"), cell_css="nowrap", value=_read_update, file="updated"),
)


def _share(key: str, label: str, by: str) -> Column:
    return Column(key, label, css="number", sort=by, form=whole_percent, exported=False)


NODES = Table(
    "usage-nodes",
    _("Use of nodes"),
    (
        Column("name", _("Node"), sort="name", cell_css="name"),
        *(*_ZONE, _PODS, *_ALLOCATABLE, _REQUESTED, _share("requested-share", _("% requested"), "requested_share")),
        *(_USED, _share("used-share", _("% used"), "used_share"), *_UNUSED),
    ),
    css="wrap-heads",
    page="usage-nodes",
    also=("resource", "statistic", "search", "ordering"),
)
WORKLOADS = Table(
    "usage-workloads",
    _("Use of workloads"),
    (
        Column("name", _("Workload"), sort="name", cell_css="name"),
        *(*_ZONE, _PODS, *_ALLOCATABLE, _REQUESTED, _USED, *_UNUSED),
    ),
    css="wrap-heads",
    page="usage-workloads",
    also=("resource", "statistic", "search", "ordering"),
)
register_tables(NODES, WORKLOADS)
