"""The decider of policies with profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions import snapshots
from kschedweb.decisions.case import Case
from kschedweb.decisions.decider import Decider, ProfileMissing
from kschedweb.decisions.decision import Decision
from kschedweb.engine import Scheduler
from kschedweb.engine.config import Configuration

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.engine import Explanation, Pod


class ProfilesDecider(Decider[Configuration, Scheduler, Case]):
    def state_version(self, snapshot: Snapshot) -> tuple[Hashable, ...]:
        return snapshots.figures_version(snapshot)

    def has_read(self, snapshot: Snapshot, runs: Configuration) -> bool:
        return snapshots.has_read(snapshot, runs.release.counting)

    def answers_for(self, runs: Configuration, scheduler_name: str, *, only_profile: bool = False) -> bool:
        return runs.find_profile(scheduler_name) is not None or (only_profile and len(runs.profiles) == 1)

    def as_profile(self, scheduler: Scheduler, pod: Pod, is_live: Callable[[str], bool]) -> Pod:
        runs, name = scheduler.configuration, pod.scheduler_name
        if self.answers_for(runs, name):
            return pod
        if self.answers_for(runs, name, only_profile=True) and is_live(name):
            return pod.under_scheduler(runs.profiles[0].scheduler_name)
        raise ProfileMissing(pod.key, name)

    def build_scheduler(self, snapshot: Snapshot, runs: Configuration) -> Scheduler:
        return Scheduler(snapshots.engine_snapshot(snapshot, runs.release.counting), runs)

    def _remove_pod(self, scheduler: Scheduler, pod_key: str) -> tuple[Scheduler, Pod]:
        engine, pod = scheduler.snapshot.without_pod(pod_key)
        return Scheduler(engine, scheduler.configuration), pod

    def _build_case(self, scheduler: Scheduler, pod: Pod, bound_to: str) -> Case:
        return Case(scheduler.snapshot, pod, scheduler, scheduler.explain(pod, as_scheduled=True), bound_to)

    def release_version(self, case: Case) -> str:
        return case.scheduler.configuration.release.version

    def with_victims(self, case: Case) -> Explanation:
        return case.scheduler.explain(case.pod, preemption=True, thorough=False, as_scheduled=True)

    def present(self, case: Case, other: AnyCase | None = None) -> Decision:
        return Decision(case, other)
