"""Costs in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop

from kschedweb.web.units import format_count, format_price

if TYPE_CHECKING:
    from kschedweb.advice.costs.billing import Bill, CostLine

GROUPS = {
    "type": gettext_noop("By instance type"),
    "pool": gettext_noop("By node pool"),
    "namespace": gettext_noop("By namespace"),
    "workload": gettext_noop("By workload"),
}
OF_NODES = ("type", "pool")


def render_heading(bill: Bill, cluster: str) -> str:
    """Return what an hour costs, in one sentence."""
    total = bill.total
    parameters = {
        "cluster": cluster,
        "nodes": format_count(total.count, "nodes"),
        "hour": f"{format_price(total.hour)} {bill.unit}",
        "idle": f"{total.idle_share:.0f}",
        "free": f"{100 - total.requested_share:.0f}",
    }
    return _heading_template(bill, total) % parameters


def _heading_template(bill: Bill, total: CostLine) -> str:
    if not total.count:
        return gettext("%(cluster)s has no nodes")
    if not bill.money:
        return gettext("%(cluster)s has %(nodes)s and no prices")
    if not total.has_price:
        return gettext("No node of %(cluster)s has a price")
    if total.has_use:
        return gettext("%(cluster)s costs %(hour)s an hour; %(idle)s %% of it is not used")
    if total.hour:
        return gettext("%(cluster)s costs %(hour)s an hour; %(free)s %% of it is not requested")
    return gettext("%(cluster)s costs %(hour)s an hour")
