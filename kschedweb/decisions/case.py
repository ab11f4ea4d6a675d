"""What a decision is about: one pod, one cluster, one policy, and what the engine said."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.engine import Explanation, Pod, Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.releases.classic import ClassicExplanation, ClassicScheduler, ClassicSnapshot


@dataclass(frozen=True)
class Case:
    """One pod against one snapshot under one policy.

    ``snapshot`` is the cluster as the scheduler would find it: a bound pod is taken off its node first, which
    ``bound_to`` names ("" for a pending one). ``scheduler`` belongs to it.
    """

    snapshot: EngineSnapshot
    pod: Pod
    scheduler: Scheduler
    explanation: Explanation
    bound_to: str


@dataclass(frozen=True)
class ClassicCase:
    """The same under a classic policy: cluster and pod are as kube-scheduler of that time saw them."""

    snapshot: ClassicSnapshot
    pod: Pod
    scheduler: ClassicScheduler
    explanation: ClassicExplanation
    bound_to: str


AnyCase = Case | ClassicCase
