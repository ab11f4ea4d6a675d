"""The subject of a decision: one pod, one snapshot, one policy, and the engine's answer."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.engine import Explanation, Pod, Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.releases.classic import ClassicExplanation, ClassicScheduler, ClassicSnapshot


@dataclass(frozen=True)
class Case:
    """One pod against one snapshot under one policy.

    ``snapshot`` is the cluster as the scheduler finds it: a bound pod is removed from its node, ``bound_to`` ("" for a
    pending pod). ``scheduler`` runs over ``snapshot``.
    """

    snapshot: EngineSnapshot
    pod: Pod
    scheduler: Scheduler
    explanation: Explanation
    bound_to: str


@dataclass(frozen=True)
class ClassicCase:
    """A case under a classic policy; cluster and pod are as that kube-scheduler read them."""

    snapshot: ClassicSnapshot
    pod: Pod
    scheduler: ClassicScheduler
    explanation: ClassicExplanation
    bound_to: str


AnyCase = Case | ClassicCase
