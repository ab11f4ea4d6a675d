"""The interface by which profiles and classic policies decide and are presented.

``kinds`` has an implementation for each kind of policy. A caller gets the one for its revision once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kschedweb.clusters.redaction import PodNotFound
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.affinity import PREFERRED
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation, Pod, Scheduler
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.releases.classic import ClassicScheduler

Runs = TypeVar("Runs")  # what a policy's document is read into
Decides = TypeVar("Decides", bound="Scheduler | ClassicScheduler")  # the engine's scheduler that runs it
Decided = TypeVar("Decided")


class CycleFails(Unprocessable):
    """The scheduling cycle of a pod fails; ``why`` is kube-scheduler's error, which does not name the pod.

    ``unread`` says of fields of the pod that no kube-scheduler can read them: another policy is no way out then.
    """

    def __init__(self, pod_key: str, why: str, unread: Sequence[str] = ()) -> None:
        super().__init__(f"The scheduling cycle of {pod_key} fails: {why}")
        self.why, self.unread = why, tuple(unread)


class ProfileMissing(CycleFails):
    """The policy has no profile for the pod, which is another scheduler's."""

    def __init__(self, pod_key: str, scheduler_name: str) -> None:
        super().__init__(pod_key, f'profile not found for scheduler name "{scheduler_name}"')
        self.scheduler_name = scheduler_name


class Decider(ABC, Generic[Runs, Decides, Decided]):
    @abstractmethod
    def state_version(self, snapshot: Snapshot) -> tuple[Hashable, ...]:
        """A value that changes with what an answer depends on beside snapshot, pod and policy."""

    @abstractmethod
    def has_read(self, snapshot: Snapshot, runs: Runs) -> bool:
        """Whether this process has read what ``build_scheduler`` reads."""

    @abstractmethod
    def build_scheduler(self, snapshot: Snapshot, runs: Runs) -> Decides:
        """The scheduler over a stored snapshot, which is shared and must not be changed."""

    @abstractmethod
    def release_version(self, case: Decided) -> str:
        """The kube-scheduler that the decision is as, as "1.36.3"."""

    @abstractmethod
    def answers_for(self, runs: Runs, scheduler_name: str, *, only_profile: bool = False) -> bool:
        """Whether pods with this schedulerName are the document's: it has a profile of that name.

        With ``only_profile`` also where it has one profile, of whatever name, as live schedulers run it.
        """

    def decide_pod(
        self, scheduler: Decides, pod_key: str, is_live: Callable[[str], bool] = lambda scheduler_name: False
    ) -> Decided:
        """The decision about a pod; a bound pod is removed from its node first.

        ``is_live`` says whether a live scheduler has this name: it runs the only profile of a policy under its own.
        Raises NotFound if the snapshot has no such pod, CycleFails if the scheduling cycle fails.
        """
        pod = self.find_pod(scheduler.snapshot, pod_key)
        bound_to = pod.node_name
        if bound_to:
            scheduler, pod = self._remove_pod(scheduler, pod_key)
        try:
            return self._build_case(scheduler, self.as_profile(scheduler, pod, is_live), bound_to)
        except CycleError as error:
            raise CycleFails(pod_key, str(error), _unreadable_fields(pod, str(error))) from None

    @staticmethod
    def find_pod(snapshot: EngineSnapshot, pod_key: str) -> Pod:
        """The pod ``pod_key``; raises PodNotFound if there is none."""
        try:
            return snapshot.get_pod(pod_key)
        except KeyError:
            raise PodNotFound(f"The snapshot has no pod {pod_key}.") from None

    def as_profile(self, scheduler: Decides, pod: Pod, is_live: Callable[[str], bool]) -> Pod:
        """``pod`` as the profile of ``scheduler`` sees it that decides about it; raises ProfileMissing for none."""
        return pod

    @abstractmethod
    def _remove_pod(self, scheduler: Decides, pod_key: str) -> tuple[Decides, Pod]:
        """The scheduler over the cluster without a bound pod, and that pod as unbound."""

    @abstractmethod
    def _build_case(self, scheduler: Decides, pod: Pod, bound_to: str) -> Decided: ...

    @abstractmethod
    def with_victims(self, case: Decided) -> Explanation:
        """The case with the result of PostFilter for a pod that fits nowhere, if preemption is simulated."""

    @abstractmethod
    def present(self, case: Decided, other: AnyCase | None = None) -> Presentation:
        """The presentation of a case on pages; ``other`` is the same pod under another policy."""

    def rest_fields(self, case: Decided) -> dict[str, Any]:
        """Fields of a REST answer that only this kind of policy has."""
        return {}


def _unreadable_fields(pod: Pod, why: str) -> list[str]:
    """The fields of the pod because of which the cycle failed as ``why`` says, with what is wrong with each.

    1.13 says the same of a field without its path.
    """
    problems = pod.node_affinity.unread
    if not any(problem.rpartition(": ")[2] in why for problem in problems):
        return []
    return [f"spec.affinity.nodeAffinity.{PREFERRED}{problem}" for problem in problems]
