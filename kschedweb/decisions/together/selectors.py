"""Explain several pods at once, and group those with the same verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from kschedweb.clusters.redaction import pod_missing
from kschedweb.clusters.selectors import pending_keys, pod_ref, pod_rows
from kschedweb.decisions import services
from kschedweb.decisions.fixes import NO_FIXES, find_pod_fixes, present_fixes
from kschedweb.decisions.redaction import redact_decision
from kschedweb.decisions.responsibility import PodStatus, find_responsible_scheduler
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.clusters.models import PodRow, Snapshot
    from kschedweb.decisions.services import DecisionSummary
    from kschedweb.policies.models import Revision

# Pods at a time.
MAX_PODS = 100


@dataclass(frozen=True)
class PodVerdict:
    """The decision about one pod."""

    row: PodRow
    # None if there was no time for it.
    outcome: DecisionSummary | None

    @property
    def key(self) -> str:
        return f"{self.row.namespace}/{self.row.name}"


@dataclass(frozen=True)
class PodVerdictGroup:
    """Pods with the same verdict."""

    # "fits"; "stays" (bound, and it would go to its node again); "moves" (bound, and it would go elsewhere); "stuck";
    # "waiting" for approval; "handled" by an unknown scheduler; "open" if there was no time.
    kind: str
    # Why the pods are stuck.
    reasons: tuple[str, ...]
    pods: tuple[PodVerdict, ...]
    # What would let the first pod run, as REST shows it; None if there was no time to look for it.
    known_fixes: Json | None = field(default_factory=lambda: NO_FIXES)

    @property
    def fixes(self) -> Json:
        return self.known_fixes or NO_FIXES

    @property
    def has_searched_fixes(self) -> bool:
        return self.known_fixes is not None

    @property
    def shown_fixes(self) -> object:
        """The fixes in the language of the reader."""
        return present_fixes(self.fixes)["fixes"]


# The kinds of groups in the order of the page, with what needs attention first.
KIND_LABELS = {
    "stuck": _("fits nowhere"),
    "waiting": _("waits for approval"),
    "fits": _("fits now"),
    "moves": _("would go elsewhere"),
    "stays": _("would stay"),
    "handled": _("handled by another scheduler"),
    "open": _("not decided yet"),
}
ORDER = tuple(KIND_LABELS)

KINDS = {PodStatus.WAITING: "waiting", PodStatus.HANDLED: "handled"}


def explain_together(
    snapshot: Snapshot, revision: Revision, keys: Sequence[str], seconds: float
) -> list[PodVerdictGroup]:
    """Group the verdicts about pods ("namespace/name"): those that fit nowhere first, the largest group first.

    Without ``keys`` they are about the first ``MAX_PODS`` pending pods. Raises ``ApplicationError`` for too many pods,
    and for pods that the snapshot does not have.
    """
    pod_keys = list(dict.fromkeys(keys)) or pending_keys(snapshot, MAX_PODS)
    if len(pod_keys) > MAX_PODS:
        raise ApplicationError.at("pod", f"At most {MAX_PODS} pods are explained together; these are {len(pod_keys)}.")
    rows, deadline = _find_rows(snapshot, pod_keys), monotonic() + seconds
    outcomes = services.summarize_pods(snapshot, revision, [pod_ref(rows[key]) for key in pod_keys], seconds=seconds)
    verdicts_by_kind: dict[tuple[str, tuple[str, ...]], list[PodVerdict]] = {}
    for key in pod_keys:
        verdict = PodVerdict(rows[key], outcomes.get(key))
        verdicts_by_kind.setdefault(_group_key(verdict), []).append(verdict)
    groups = [
        PodVerdictGroup(kind, reasons, tuple(pods), _find_group_fixes(snapshot, revision, kind, pods[0], deadline))
        for (kind, reasons), pods in verdicts_by_kind.items()
    ]
    return sorted(groups, key=lambda group: (ORDER.index(group.kind), -len(group.pods)))


def _find_group_fixes(
    snapshot: Snapshot, revision: Revision, kind: str, verdict: PodVerdict, deadline: float
) -> Json | None:
    """Return what would let a pending pod run that its policy decided about; None after ``deadline``."""
    if kind != "stuck" or verdict.outcome is None:
        return NO_FIXES
    if monotonic() > deadline:
        return None
    scheduler, _ = find_responsible_scheduler(snapshot, revision, verdict.key)
    if scheduler.revision is None or not services.at_hand(snapshot, scheduler.revision):
        return NO_FIXES
    try:
        case = services.decide_pod(snapshot, verdict.key, scheduler.revision)
    except ApplicationError:
        # The cycle of such a pod fails, which its reason says.
        return NO_FIXES
    return redact_decision(snapshot.cluster_id, find_pod_fixes(snapshot, scheduler.revision, case))


def _group_key(verdict: PodVerdict) -> tuple[str, tuple[str, ...]]:
    outcome, bound = verdict.outcome, verdict.row.node
    if outcome is None:
        return "open", ()
    if outcome.status is not PodStatus.DECIDED:
        return KINDS[outcome.status], outcome.reasons
    if not outcome.node:
        return "stuck", tuple(sorted(outcome.reasons))
    if not bound:
        return "fits", ()
    return ("stays" if bound == outcome.node else "moves"), ()


def _find_rows(snapshot: Snapshot, keys: Iterable[str]) -> dict[str, PodRow]:
    name_parts = [key.partition("/") for key in keys]
    rows = pod_rows(snapshot).filter(
        namespace__in={space for space, _, _ in name_parts if "\0" not in space},
        name__in={name for _, _, name in name_parts if "\0" not in name},
    )
    row_by_key = {f"{row.namespace}/{row.name}": row for row in rows}
    if missing := [key for key in keys if key not in row_by_key]:
        raise ApplicationError.at("pod", f"{pod_missing(snapshot, missing[0]).detail} Write namespace/name.")
    return row_by_key
