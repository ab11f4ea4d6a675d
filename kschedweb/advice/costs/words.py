"""Amounts in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.web.units import counted, price

if TYPE_CHECKING:
    from kschedweb.advice.costs.billing import Bill, Line

GROUPS = {"type": "instance type", "pool": "node pool", "namespace": "namespace", "workload": "workload"}
OF_NODES = ("type", "pool")


def heading(bill: Bill, cluster: str) -> str:
    """What an hour costs."""
    total = bill.total
    if not total.count:
        return f"{cluster} has no nodes"
    if not bill.money:
        return f"{cluster} has {counted(total.count, 'nodes')} and no prices"
    if not total.priced:
        return f"No node of {cluster} has a price"
    return f"{cluster} costs {price(total.hour)} {bill.unit} an hour{_idle(total)}"


def _idle(line: Line) -> str:
    if line.known:
        return f"; {line.idle_share:.0f} % of it is not used"
    return f"; {100 - line.requested_share:.0f} % of it is not requested" if line.hour else ""
