"""The interface by which profiles and classic policies decide and are presented.

``kinds`` has an implementation for each kind of policy. A caller gets the one for its revision once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from kschedweb.clusters.redaction import PodNotFound
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
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

# The form into which a policy's document is read.
Runs = TypeVar("Runs")
# The engine's scheduler that runs it.
Decides = TypeVar("Decides", bound="Scheduler | ClassicScheduler")
Decided = TypeVar("Decided")


class CycleFails(Unprocessable):
    """The scheduling cycle of a pod fails; ``why`` is kube-scheduler's error, which does not name the pod.

    ``unread`` are fields of the pod that no kube-scheduler can read: then no other policy would help.
    """

    def __init__(self, pod_key: str, why: str, unread: Sequence[str] = ()) -> None:
        super().__init__(f"The scheduling cycle of {pod_key} fails: {why}")
        self.why, self.unread = why, tuple(unread)


class ProfileMissing(CycleFails):
    """The policy has no profile for the pod: it belongs to another scheduler."""

    def __init__(self, pod_key: str, scheduler_name: str) -> None:
        super().__init__(pod_key, f'profile not found for scheduler name "{scheduler_name}"')
        self.scheduler_name = scheduler_name


class Decider(ABC, Generic[Runs, Decides, Decided]):
    @abstractmethod
    def state_version(self, snapshot: Snapshot) -> tuple[Hashable, ...]:
        """Return a value that changes with everything an answer depends on, besides snapshot, pod and policy."""

    @abstractmethod
    def has_read(self, snapshot: Snapshot, runs: Runs) -> bool:
        """Return whether this process already holds what ``build_scheduler`` reads."""

    @abstractmethod
    def build_scheduler(self, snapshot: Snapshot, runs: Runs) -> Decides:
        """Return the scheduler over a stored snapshot. It is shared and must not be changed."""

    @abstractmethod
    def release_version(self, case: Decided) -> str:
        """Return the kube-scheduler as which the decision was made, such as "1.36.3"."""

    @abstractmethod
    def answers_for(self, runs: Runs, scheduler_name: str, *, only_profile: bool = False) -> bool:
        """Return whether pods with this schedulerName are the document's: it has a profile of that name.

        With ``only_profile`` the only profile counts too, whatever its name, as live schedulers run it.
        """

    def decide_pod(
        self,
        scheduler: Decides,
        pod_key: str,
        is_live: Callable[[str], bool] = lambda scheduler_name: False,
        remove: Callable[[Decides, str], tuple[Decides, Pod]] | None = None,
    ) -> Decided:
        """Decide about a pod. A bound pod is removed from its node first, by ``remove`` if it is given.

        ``is_live`` says whether a live scheduler has a name: it runs the only profile of a policy under its own name.
        Raises NotFound if the snapshot has no such pod, CycleFails if the scheduling cycle fails.
        """
        pod = self.find_pod(scheduler.snapshot, pod_key)
        bound_to = pod.node_name
        if bound_to:
            scheduler, pod = (remove or self._remove_pod)(scheduler, pod_key)
        try:
            return self._build_case(scheduler, self.as_profile(scheduler, pod, is_live), bound_to)
        except CycleError as error:
            raise CycleFails(pod_key, str(error), _unreadable_fields(pod, str(error))) from None

    @staticmethod
    def find_pod(snapshot: EngineSnapshot, pod_key: str) -> Pod:
        """Return the pod ``pod_key``. Raise PodNotFound if there is none."""
        try:
            return snapshot.get_pod(pod_key)
        except KeyError:
            raise PodNotFound(f"The snapshot has no pod {pod_key}.") from None

    def as_profile(self, scheduler: Decides, pod: Pod, is_live: Callable[[str], bool]) -> Pod:
        """Return ``pod`` as the profile that decides about it sees it. Raise ProfileMissing if there is none."""
        return pod

    @abstractmethod
    def _remove_pod(self, scheduler: Decides, pod_key: str) -> tuple[Decides, Pod]:
        """Return the scheduler over the cluster without a bound pod, and that pod as unbound."""

    @abstractmethod
    def _build_case(self, scheduler: Decides, pod: Pod, bound_to: str) -> Decided: ...

    @abstractmethod
    def with_victims(self, case: Decided) -> Explanation:
        """Return the explanation with PostFilter's result for a pod that fits nowhere, if preemption is simulated."""

    @abstractmethod
    def present(self, case: Decided, other: AnyCase | None = None) -> Presentation:
        """Return the presentation of a case on pages; ``other`` is the same pod under another policy."""

    def rest_fields(self, case: Decided) -> Json:
        """Return fields of a REST answer that only this kind of policy has."""
        return {}


def _unreadable_fields(pod: Pod, why: str) -> list[str]:
    """Return the fields of the pod that made the cycle fail with ``why``, each with its problem.

    Version 1.13 reports the same without the field's path.
    """
    problems = pod.node_affinity.unread
    if not any(problem.rpartition(": ")[2] in why for problem in problems):
        return []
    return [f"spec.affinity.nodeAffinity.{PREFERRED}{problem}" for problem in problems]
