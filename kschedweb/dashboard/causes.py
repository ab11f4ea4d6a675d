"""Causes of pending pods in plain words: a block a pod, and one action a cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from kschedweb.dashboard.selectors import FITS_NOW
from kschedweb.decisions.responsibility import WAITS
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.clusters.selectors import PodRef

# Blocks that a cause shows; the rest is a number. Of a few pods each block has room for a name.
MOST_BLOCKS, MOST_NAMED = 60, 5


@dataclass(frozen=True)
class CauseKind:
    """A plain cause, and what to do about it."""

    key: str
    label: str
    action: str
    # The URL name of the page that the action opens, and parameters of its address beside the cluster.
    page: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    # Beginnings of the scheduler's reasons that mean it.
    reasons: tuple[str, ...] = ()


ANY_REASON = ""
MORE_NODES = _("How many nodes are needed?")
# A pod's cause is the first kind that its first reason begins like.
CAUSE_KINDS = (
    CauseKind("people", _("Waiting for people"), _("Approve or deny"), "approvals", reasons=(WAITS,)),
    CauseKind(
        "elsewhere", _("Handled by another scheduler"), _("See the schedulers"), "live", reasons=("handled by ",)
    ),
    CauseKind(
        "fits", _("Fits now, at its next attempt"), _("See where they go"), "pods", {"reason": FITS_NOW}, (FITS_NOW,)
    ),
    CauseKind("cpu", _("Too little CPU"), MORE_NODES, "capacity-nodes", reasons=("Insufficient cpu",)),
    CauseKind("memory", _("Too little memory"), MORE_NODES, "capacity-nodes", reasons=("Insufficient memory",)),
    CauseKind(
        "resource",
        _("Too little of another resource"),
        MORE_NODES,
        "capacity-nodes",
        reasons=("Insufficient ", "Too many pods", "cannot allocate all claims"),
    ),
    CauseKind(
        "spread",
        _("Spread rules"),
        _("Explain together"),
        "decisions-together",
        reasons=(
            "node(s) didn't match pod topology spread",
            "node(s) didn't match pod anti-affinity",
            "node(s) didn't satisfy existing pods anti-affinity",
            "node(s) didn't match pod affinity",
        ),
    ),
    CauseKind(
        "matching",
        _("No matching node"),
        _("Explain together"),
        "decisions-together",
        reasons=(
            "node(s) didn't match Pod's node affinity",
            "node(s) didn't match scheduler-enforced node affinity",
            "node(s) didn't match the requested node name",
            "node(s) didn't satisfy plugin(s) [NodeAffinity]",
        ),
    ),
    CauseKind(
        "taints",
        _("Taints"),
        _("See tainted nodes"),
        "nodes",
        {"tainted": "true"},
        ("node(s) had untolerated taint", "node(s) were unschedulable"),
    ),
    CauseKind(
        "volumes",
        _("Volumes"),
        _("Explain together"),
        "decisions-together",
        reasons=(
            "pod has unbound immediate PersistentVolumeClaims",
            "persistentvolumeclaim",
            "node(s) exceed max volume count",
            "node(s) had no available",
            "node(s) didn't match PersistentVolume",
            "node(s) didn't find available persistent volumes",
            "node(s) did not have enough free storage",
        ),
    ),
    CauseKind(
        "gates",
        _("Held by scheduling gates"),
        _("See gated pods"),
        "pods",
        {"gated": "true"},
        ("waiting for scheduling gates",),
    ),
    CauseKind("other", _("Another reason"), _("See the pods"), "pods", {"pending": "true"}, (ANY_REASON,)),
)


@dataclass(frozen=True)
class PendingCause:
    """The pods that are pending for one cause."""

    kind: CauseKind
    pods: list[PodRef]
    # The page that the action opens.
    address: str

    @property
    def blocks(self) -> list[PodRef]:
        return self.pods[:MOST_BLOCKS]

    @property
    def is_named(self) -> bool:
        return len(self.pods) <= MOST_NAMED

    @property
    def left_out(self) -> int:
        return len(self.pods) - len(self.blocks)


def group_by_cause(cluster: str, reasons_by_pod: Iterable[tuple[PodRef, tuple[str, ...]]]) -> list[PendingCause]:
    """Return the causes of pending pods, the most frequent first; each pod has one."""
    pods_by_kind: dict[str, list[PodRef]] = {}
    for pod, reasons in reasons_by_pod:
        pods_by_kind.setdefault(find_kind(reasons).key, []).append(pod)
    kinds = [kind for kind in CAUSE_KINDS if kind.key in pods_by_kind]
    causes = [PendingCause(kind, pods_by_kind[kind.key], _action_address(kind, cluster)) for kind in kinds]
    return sorted(causes, key=lambda cause: -len(cause.pods))


def find_kind(reasons: tuple[str, ...]) -> CauseKind:
    """Return the kind of cause that the scheduler's ``reasons`` of a pod mean, the most frequent reason first."""
    return next(kind for kind in CAUSE_KINDS if (reasons or (ANY_REASON,))[0].startswith(kind.reasons))


def _action_address(kind: CauseKind, cluster: str) -> str:
    if kind.page == "decisions-together":
        return reverse(kind.page, args=[cluster])
    if kind.page in ("approvals", "live"):
        return reverse(kind.page)
    return f"{reverse(kind.page)}?{urlencode({'cluster': cluster, **kind.parameters})}"
