"""The subject of a decision: one pod, one snapshot, one policy, and the engine's answer."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.engine import Explanation, Pod, Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.releases.classic import ClassicExplanation, ClassicScheduler, ClassicSnapshot
from kschedweb.engine.releases.classic.objects import as_of_then


@dataclass(frozen=True)
class Case:
    """One pod against one snapshot under one policy."""

    # The cluster as the scheduler finds it: a bound pod is removed from its node.
    snapshot: EngineSnapshot
    pod: Pod
    # Runs over ``snapshot``.
    scheduler: Scheduler
    explanation: Explanation
    # The node from which a bound pod was removed, "" for a pending pod.
    bound_to: str
    # True for a try of a run, False for a decision on the present snapshot.
    from_run: bool = False


@dataclass(frozen=True)
class ClassicCase:
    """A case under a classic policy. Cluster and pod are as that old kube-scheduler read them."""

    snapshot: ClassicSnapshot
    pod: Pod
    scheduler: ClassicScheduler
    explanation: ClassicExplanation
    bound_to: str
    from_run: bool = False


AnyCase = Case | ClassicCase


def case_of(snapshot: EngineSnapshot, pod: Pod, scheduler: Scheduler, explanation: Explanation) -> AnyCase:
    """Return the case of a pod of a run that ``scheduler`` explained over ``snapshot``."""
    if not isinstance(scheduler, ClassicScheduler):
        return Case(snapshot, pod, scheduler, explanation, "", from_run=True)
    assert isinstance(explanation, ClassicExplanation)
    return ClassicCase(scheduler.snapshot, as_of_then(pod), scheduler, explanation, "", from_run=True)
