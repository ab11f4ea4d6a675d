"""The effect of another policy, which may be unsaved, on the pods of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import pod_rows
from kschedweb.decisions import services as playground
from kschedweb.decisions.deciders import PROFILES
from kschedweb.engine.cycle.judgement import JudgementReason, why_moved
from kschedweb.engine.patience import DeadlineExceeded, Patience, checkpoint, limit_by
from kschedweb.jobs.inquiries import AT_ONCE_SECONDS
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet

    from kschedweb.clusters.models import PodRow, Snapshot
    from kschedweb.decisions.decider import Decider
    from kschedweb.engine import Explanation
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.releases.classic import Algorithm

# Pods that a request compares; a job compares them all.
POD_LIMIT = 50
TOO_LONG = "Its decision takes too long to be compared here."


@dataclass(frozen=True)
class MovedPod:
    """A pod that would get another node."""

    namespace: str
    name: str
    # Names of nodes, "" for none.
    before: str
    after: str
    # Why it moves.
    reason: JudgementReason
    # Why no node is feasible afterwards, "" if one is.
    message: str


@dataclass
class Effect:
    """The pods that another policy would move."""

    # Pods that could be asked, and those that were.
    pods: int
    asked: int = 0
    moved: list[MovedPod] = field(default_factory=list)
    # Pods whose scheduling cycle fails under one of the policies, with the error.
    failed: list[str] = field(default_factory=list)

    @property
    def moving(self) -> int:
        """Return how many pods would go elsewhere."""
        return len(self.moved)


def compute_effect(
    snapshot: Snapshot,
    before: Configuration | Algorithm,
    after: Configuration | Algorithm,
    rows: QuerySet[PodRow] | None = None,
    limit: int = POD_LIMIT,
    decider: Decider[Any, Any, Any] = PROFILES,
    seconds: float = AT_ONCE_SECONDS,
    on_progress: Callable[[int, int], object] = lambda compared, total: None,
) -> Effect:
    """Compare ``before`` and ``after`` on the pods ``rows``, by default all pending ones, gated ones among them.

    Each pod is decided alone in the cluster without it.

    It compares at most ``limit`` pods, and stops after ``seconds``. ``decider`` is that of both policies.
    ``on_progress`` gets the number of compared pods and the total.
    """
    pod_queryset = pod_rows(snapshot).filter(pending=True) if rows is None else rows
    result = Effect(pod_queryset.count())
    begun = monotonic()
    for namespace, name, scheduler in pod_queryset.values_list("namespace", "name", "scheduler_name")[:limit]:
        if result.asked and monotonic() - begun > seconds:
            break
        on_progress(result.asked, min(result.pods, limit))
        result.asked += 1
        key = f"{namespace}/{name}"
        try:
            if not any(decider.answers_for(rules, scheduler) for rules in (before, after)):
                # Another scheduler's pod stays where it is.
                continue
            # One pod with a long search must not use up the time of all.
            with limit_by(Patience(max(seconds / 4, playground.AT_LEAST))):
                old = playground.explain_with(snapshot, key, before, decider)
                new = playground.explain_with(snapshot, key, after, decider)
        except ApplicationError as error:
            result.failed.append(f"{key}: {error.detail}")
            continue
        except DeadlineExceeded:
            # The request itself may be out of time: then this raises again.
            checkpoint()
            result.failed.append(f"{key}: {TOO_LONG}")
            continue
        if moved := _compare_placements(namespace, name, old, new):
            result.moved.append(moved)
    return result


def _compare_placements(namespace: str, name: str, old: Explanation, new: Explanation) -> MovedPod | None:
    """Return how the pod moves. A pod that is held outside of the queue, such as a gated one, has no node."""
    held_statuses = {
        side: explanation.pre_enqueue
        for side, explanation in (("old", old), ("new", new))
        if not explanation.pre_enqueue.ok
    }
    if not held_statuses:
        reason = why_moved(old, new)
        return MovedPod(namespace, name, old.node, new.node, reason, new.message) if reason else None
    before, after = "" if "old" in held_statuses else old.node, "" if "new" in held_statuses else new.node
    if before == after:
        return None
    status = next(iter(held_statuses.values()))
    reason = JudgementReason(status.plugin, None, status.message)
    return MovedPod(namespace, name, before, after, reason, new.message or status.message)
