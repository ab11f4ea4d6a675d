"""What the frame's pages read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Q, Sum

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.selectors import node_rows, pod_rows
from kschedweb.decisions import services as playground
from kschedweb.jobs.models import Job
from kschedweb.jobs.selectors import job_list, shown
from kschedweb.policies.models import Revision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.accounts.models import User
    from kschedweb.policies.scope import Scope
    from kschedweb.watermarks.usage.selectors import Present

MOST_PENDING = 200


def counts(snapshot: Snapshot) -> dict[str, int]:
    """How many nodes and pods there are, and in what state."""
    nodes = node_rows(snapshot).aggregate(
        nodes=Count("id"),
        cordoned=Count("id", filter=Q(unschedulable=True)),
        not_ready=Count("id", filter=Q(ready=False)),
    )
    waiting = Q(pending=True)
    pods = PodRow.objects.filter(snapshot=snapshot).aggregate(
        pods=Count("id"), waiting=Count("id", filter=waiting), held=Count("id", filter=waiting & Q(gated=True))
    )
    return nodes | pods


def headroom(snapshot: Snapshot, use: Present | None = None) -> list[dict[str, Any]]:
    """What is free in each zone on nodes that take pods: CPU in millicores, memory in bytes, pods, and their shares.

    With ``use`` also the percent of CPU and memory that is used, where it is known of any of these nodes.
    """
    usable = NodeRow.objects.filter(snapshot=snapshot, unschedulable=False, ready=True).order_by().values("zone")
    totals = usable.annotate(
        nodes=Count("id"),
        **{
            f"{resource}_{side}": Sum(f"{resource}_{side}")
            for resource, side in (
                ("cpu", "allocatable"),
                ("cpu", "requested"),
                ("memory", "allocatable"),
                ("memory", "requested"),
                ("pods", "allocatable"),
                ("pods", "bound"),
            )
        },
    ).order_by("zone")
    zones: list[dict[str, Any]] = []
    for found in totals:
        zone: dict[str, Any] = dict(found)
        for resource, used in (("cpu", "cpu_requested"), ("memory", "memory_requested"), ("pods", "pods_bound")):
            allocatable = zone[f"{resource}_allocatable"]
            zone[f"{resource}_free"] = allocatable - zone[used]
            zone[f"{resource}_share"] = 1000 * zone[used] // allocatable if allocatable else 0
        zones.append(zone)
    if use is not None:
        _add_use(zones, usable, use)
    return zones


def _add_use(zones: list[dict[str, Any]], nodes: Any, use: Present) -> None:
    """Give ``zones`` the percent used of what those of ``nodes`` have whose use is known."""
    for resource, percents in (("cpu", use.cpu), ("memory", use.memory)):
        have: Counter[str] = Counter()
        used: Counter[str] = Counter()
        for name, zone, amount in nodes.values_list("name", "zone", f"{resource}_allocatable"):
            if name in percents:
                have[zone] += amount
                used[zone] += percents[name] * amount
        for row in zones:
            zone = row["zone"]
            row[f"{resource}_used"] = used[zone] / have[zone] if have[zone] else None


def pending_reasons(scope: Scope, snapshot: Snapshot, seconds: float) -> tuple[list[tuple[str, int]], int]:
    """Why pods are pending under the chosen policy: (reason, pods) most frequent first, and how many were asked about.

    A pod counts under each of its reasons. At most MOST_PENDING pods and ``seconds`` of the engine are spent.
    """
    if scope.revision is None:
        return [], 0
    pods = pod_rows(snapshot).filter(pending=True).values_list("namespace", "name")[:MOST_PENDING]
    found = playground.outcomes(snapshot, scope.revision, [f"{space}/{name}" for space, name in pods], seconds=seconds)
    reasons = Counter(reason for outcome in found.values() for reason in outcome.reasons or ("would fit now",))
    return reasons.most_common(), len(found)


@dataclass(frozen=True)
class ListedPod:
    """A pod of a list. ``outcome`` is ``None`` for a bound pod, and for a pending one there was no time for."""

    row: PodRow
    outcome: playground.DecisionSummary | None

    @property
    def recorded(self) -> str:
        """What the cluster's own scheduler wrote, where it says something else than the engine does."""
        said = self.row.message
        if self.outcome is not None and self.outcome.message and said.startswith(self.outcome.message):
            return ""
        return said


def with_outcomes(scope: Scope, rows: Iterable[PodRow], seconds: float) -> list[ListedPod]:
    """``rows`` with what becomes of the pending ones under the chosen policy, as far as ``seconds`` reach."""
    listed = list(rows)
    found: dict[str, playground.DecisionSummary] = {}
    if scope.snapshot is not None and scope.revision is not None:
        keys = [f"{row.namespace}/{row.name}" for row in listed if row.pending]
        found = playground.outcomes(scope.snapshot, scope.revision, keys, seconds=seconds)
    return [ListedPod(row, found.get(f"{row.namespace}/{row.name}")) for row in listed]


def recent_jobs(user: User) -> list[Job]:
    return [shown(user, job) for job in job_list()[:6]]


def recent_changes() -> list[Revision]:
    """The policy revisions saved last."""
    return list(
        Revision.objects.select_related("policy", "author").defer("document").order_by("-created_at", "-id")[:6]
    )
