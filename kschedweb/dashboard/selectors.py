"""Read the data of the frame's pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, Sum

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.redaction import count_hidden_pods, others_on
from kschedweb.clusters.selectors import node_rows, pod_ref, pod_refs, pod_rows
from kschedweb.decisions import services as playground
from kschedweb.jobs.models import Job
from kschedweb.jobs.selectors import job_list, redact_job
from kschedweb.policies.models import Revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.clusters.selectors import PodRef
    from kschedweb.policies.scope import PolicyScope
    from kschedweb.watermarks.usage.selectors import CurrentUse

MOST_PENDING = 20_000
# Stands in the place of a reason.
FITS_NOW = "fits now"


def count_objects(snapshot: Snapshot) -> dict[str, int]:
    """Count the nodes and pods, by their states."""
    nodes = node_rows(snapshot).aggregate(
        nodes=Count("id"),
        cordoned=Count("id", filter=Q(unschedulable=True)),
        not_ready=Count("id", filter=Q(ready=False)),
    )
    waiting = Q(pending=True)
    pods = PodRow.objects.filter(snapshot=snapshot).aggregate(
        pods=Count("id"), waiting=Count("id", filter=waiting), held=Count("id", filter=waiting & Q(gated=True))
    )
    hidden = count_hidden_pods(snapshot)
    return nodes | pods | {"others": hidden["pods"], "others_waiting": hidden["waiting"]}


def others_of(snapshot: Snapshot, node: str) -> int:
    """Count the pods on ``node`` (all if it is "") that are in namespaces that the user may not view."""
    row = node_rows(snapshot).filter(name=node.replace("\0", "")).first() if node else None
    return others_on(snapshot, row) if row else count_hidden_pods(snapshot)["pods"]


def count_changes(snapshot: Snapshot, rows: QuerySet[Any], before: str, called: Sequence[str]) -> tuple[int, int]:
    """Count the ``rows`` of ``snapshot`` that the snapshot ``before`` lacks, and those it had that are gone.

    Rows are the same if the fields ``called`` are. Filters of ``rows`` only apply to the new ones.
    """
    try:
        before_id = UUID(before)
    except ValueError:
        return 0, 0
    same = {name: OuterRef(name) for name in called}
    manager = rows.model._default_manager
    added = rows.exclude(Exists(manager.filter(snapshot_id=before_id, **same)))
    removed = manager.filter(snapshot_id=before_id).exclude(Exists(manager.filter(snapshot=snapshot, **same)))
    return added.count(), removed.count()


@dataclass
class ResourceHeadroom:
    """A resource on the nodes of a zone that take pods: millicores, bytes, or pods."""

    allocatable: int
    # By requests; of pods the number that are bound.
    requested: int
    # The percentage in use; None if it is not known of any node.
    used: float | None = None

    @property
    def free(self) -> int:
        return self.allocatable - self.requested

    @property
    def share(self) -> int:
        """The requested part, in thousandths."""
        return 1000 * self.requested // self.allocatable if self.allocatable else 0


@dataclass(frozen=True)
class ZoneHeadroom:
    """The nodes of a zone that take pods, and what is left on them."""

    zone: str
    nodes: int
    cpu: ResourceHeadroom
    memory: ResourceHeadroom
    pods: ResourceHeadroom


def compute_headroom(snapshot: Snapshot, use: CurrentUse | None = None) -> list[ZoneHeadroom]:
    """Return the free resources of each zone on nodes that take pods.

    With ``use``, also the percentage of CPU and memory in use, if it is known of any of these nodes.
    """
    usable = NodeRow.objects.filter(snapshot=snapshot, unschedulable=False, ready=True).order_by().values("zone")
    totals: QuerySet[Any, Any] = usable.annotate(
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
    zones = [
        ZoneHeadroom(
            row["zone"],
            row["nodes"],
            ResourceHeadroom(row["cpu_allocatable"], row["cpu_requested"]),
            ResourceHeadroom(row["memory_allocatable"], row["memory_requested"]),
            ResourceHeadroom(row["pods_allocatable"], row["pods_bound"]),
        )
        for row in totals
    ]
    if use is not None:
        _add_use(zones, usable, use)
    return zones


def _add_use(zones: list[ZoneHeadroom], nodes: Any, use: CurrentUse) -> None:
    """Set the percentage in use of each zone, over those of ``nodes`` whose usage is known."""
    for resource, percents in (("cpu", use.cpu), ("memory", use.memory)):
        have: Counter[str] = Counter()
        used: Counter[str] = Counter()
        for name, zone, amount in nodes.values_list("name", "zone", f"{resource}_allocatable"):
            if name in percents:
                have[zone] += amount
                used[zone] += percents[name] * amount
        for row in zones:
            if have[row.zone]:
                headroom: ResourceHeadroom = getattr(row, resource)
                headroom.used = used[row.zone] / have[row.zone]


@dataclass(frozen=True)
class PendingReasons:
    """Reasons of pending pods under a policy: each pod that was decided, with its reasons."""

    by_pod: list[tuple[PodRef, tuple[str, ...]]]

    def count_reasons(self) -> list[tuple[str, int]]:
        """Return (reason, pods), most frequent first. A pod counts under each of its reasons."""
        return Counter(reason for _, reasons in self.by_pod for reason in reasons).most_common()

    def in_namespace(self, namespace: str) -> PendingReasons:
        """Return those of the pods of ``namespace``; all of them for ""."""
        prefix = f"{namespace}/" if namespace else ""
        return PendingReasons([(pod, reasons) for pod, reasons in self.by_pod if pod.key.startswith(prefix)])

    def rows_with(self, reason: str) -> list[int]:
        """Return the rows of the pods that have ``reason``."""
        return [pod.row for pod, reasons in self.by_pod if reason in reasons]


def pending_reasons(
    revision: Revision | None, snapshot: Snapshot, seconds: float, max_bytes: int | None = None
) -> PendingReasons:
    """Return why pods are pending under ``revision``.

    Pods without a stored outcome are decided for ``seconds``, and not at all in a cluster that is not ``at_hand`` for
    ``max_bytes`` bytes.
    """
    if revision is None:
        return PendingReasons([])
    pods = pod_refs(pod_rows(snapshot).filter(pending=True)[:MOST_PENDING])
    outcomes = playground.summarize_pods(snapshot, revision, pods, seconds=seconds, max_bytes=max_bytes)
    return PendingReasons([(pod, outcomes[pod.key].reasons or (FITS_NOW,)) for pod in pods if pod.key in outcomes])


@dataclass(frozen=True)
class ListedPod:
    """A pod of a list."""

    row: PodRow
    # None for a bound pod, and for a pending one for which there was no time.
    outcome: playground.DecisionSummary | None

    @property
    def recorded(self) -> str:
        """Return the message of the cluster's own scheduler, "" if the engine says the same."""
        message = self.row.message
        if self.outcome is not None and self.outcome.message and message.startswith(self.outcome.message):
            return ""
        return message


def with_outcomes(
    scope: PolicyScope, rows: Iterable[PodRow], seconds: float, max_bytes: int | None = None
) -> list[ListedPod]:
    """Return ``rows`` with the outcome of pending pods under the chosen policy, as far as ``seconds`` reach.

    In a cluster that is not ``at_hand`` for ``max_bytes`` bytes, only stored outcomes are returned.
    """
    listed = list(rows)
    outcomes: dict[str, playground.DecisionSummary] = {}
    if scope.snapshot is not None and scope.revision is not None:
        pending = [pod_ref(row) for row in listed if row.pending]
        outcomes = playground.summarize_pods(
            scope.snapshot, scope.revision, pending, seconds=seconds, max_bytes=max_bytes
        )
    return [ListedPod(row, outcomes.get(f"{row.namespace}/{row.name}")) for row in listed]


def recent_jobs(user: User) -> list[Job]:
    return [redact_job(user, job) for job in job_list()[:6]]


def recent_changes() -> list[Revision]:
    """Return the policy revisions that were saved last."""
    return list(
        Revision.objects.select_related("policy", "author").defer("document").order_by("-created_at", "-id")[:6]
    )
