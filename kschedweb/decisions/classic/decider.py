"""The decider of classic policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions import snapshots
from kschedweb.decisions.case import ClassicCase
from kschedweb.decisions.classic.decision import ClassicDecision
from kschedweb.decisions.decider import Decider
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import Algorithm, ClassicScheduler
from kschedweb.engine.releases.classic.objects import as_of_then

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.engine import Pod
    from kschedweb.engine.releases.classic import ClassicExplanation


class ClassicDecider(Decider[Algorithm, ClassicScheduler, ClassicCase]):
    def state_version(self, snapshot: Snapshot) -> tuple[Hashable, ...]:
        return (snapshot.pk,)

    def has_read(self, snapshot: Snapshot, runs: Algorithm) -> bool:
        return snapshots.has_read_classic(snapshot)

    def answers_for(self, runs: Algorithm, scheduler_name: str, *, only_profile: bool = False) -> bool:
        # A classic policy has no profiles, so it can be asked about any pod.
        return True

    def build_scheduler(self, snapshot: Snapshot, runs: Algorithm) -> ClassicScheduler:
        return ClassicScheduler(snapshots.classic_snapshot(snapshot), runs)

    def _remove_pod(self, scheduler: ClassicScheduler, pod_key: str) -> tuple[ClassicScheduler, Pod]:
        snapshot = scheduler.snapshot.copy()
        pod = snapshot.remove_pod(pod_key).on("")
        return ClassicScheduler(snapshot, scheduler.algorithm), pod

    def _build_case(self, scheduler: ClassicScheduler, pod: Pod, bound_to: str) -> ClassicCase:
        pod = as_of_then(pod)
        return ClassicCase(scheduler.snapshot, pod, scheduler, scheduler.explain(pod), bound_to)

    def release_version(self, case: ClassicCase) -> str:
        return case.scheduler.algorithm.edition.version

    def with_victims(self, case: ClassicCase) -> ClassicExplanation:
        return case.scheduler.explain(case.pod, preemption=True)

    def present(self, case: ClassicCase, other: AnyCase | None = None) -> ClassicDecision:
        return ClassicDecision(case, other)

    def rest_fields(self, case: ClassicCase) -> Json:
        algorithm, explanation_json = case.scheduler.algorithm, case.explanation.to_dict()
        classic_fields = {
            "version": algorithm.edition.version,
            "alwaysCheckAllPredicates": algorithm.always_check_all,
            "neverAsked": list(algorithm.never_asked),
        }
        return {
            "classic": classic_fields
            | ({"priorities": explanation_json["priorities"]} if "priorities" in explanation_json else {})
        }
