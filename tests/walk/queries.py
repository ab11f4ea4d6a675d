"""Limits on the SQL queries of each page and REST resource, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.walk.visits import Visit

REST_QUERIES, PAGE_QUERIES = 8, 14
# What draws on more, each with room for one query more than it asks today.
LARGER = {
    "REST cluster-map": 12, "REST cluster-map-frames": 12, "REST comparison-report": 10, "REST decisions-together": 14,
    "REST cost": 11, "REST pod-history": 14, "REST live-shadow-drift": 10, "REST podgroup": 13,
    "REST watermark-distribution": 16, "REST watermark-history": 16, "REST watermark-nodes": 10,
    "REST watermark-skew": 16, "REST watermark-source": 11,
    "page approval": 16, "page approvals": 16, "page comparison": 18, "page decision": 23, "page decision:stuck": 23,
    "page pod-group": 18, "page pod-group:off": 18,
    "page cluster": 19, "page costs": 18, "page costs:workload": 18,
    "page decision:classic": 26, "page decision:classic-stuck": 21, "page live-shadow": 17, "page nodes": 20,
    "page nodes:state": 20, "page nodes:none": 20, "page pods:reason": 21, "page overview": 31,
    "page right-sizing-apply": 16,
    "page pods": 18, "page pod-history": 21, "page decisions-together": 20,
    "page sweep-new:rows": 16, "page usage": 20, "page usage-distribution": 20, "page usage-heatmap": 20,
    "page usage-nodes": 21, "page usage-source": 20, "page usage-workloads": 19,
    "REST decision": 13,
    "REST devices": 12,
    "REST load-aware": 10,
    "REST node-report": 11,
    "page capacity-change": 20, "page fleet": 17,
    "page capacity-nodes": 16, "page capacity-drain": 18, "page descheduling": 16, "page node": 29,
    "page gate": 19,
    "page gate:filtered": 17,
    "page load-aware": 16,
    "page pod-groups": 16,
}  # fmt: skip


def bound(name: str) -> int:
    return LARGER.get(name, REST_QUERIES if name.startswith("REST ") else PAGE_QUERIES)


class Queries:
    """Counts; what exceeds its bound is visited again, since what is kept in memory is there now."""

    def __init__(self) -> None:
        self.visited: set[str] = set()

    def judge(self, visit: Visit) -> Iterator[str]:
        self.visited.add(str(visit))
        limit = bound(str(visit))
        if visit.kind != "part" and visit.queries > limit and (queries := visit.queries_again()) > limit:
            yield f"{queries} queries, and {limit} at most"

    def end(self) -> list[str]:
        return [f"{name} is no address" for name in LARGER if name not in self.visited]
