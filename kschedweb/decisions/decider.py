"""One interface to how profiles and classic policies decide, and to what is shown of that.

``kinds`` has the implementations, one for each kind of policy. A caller takes the one of its revision, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kschedweb.engine.framework.status import CycleError
from kschedweb.web.errors import NotFound, Unprocessable

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation, Pod, Scheduler
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.releases.classic import ClassicScheduler

Runs = TypeVar("Runs")  # what a policy's document comes to
Decides = TypeVar("Decides", bound="Scheduler | ClassicScheduler")  # the engine's scheduler that runs it
Decided = TypeVar("Decided")


class Decider(ABC, Generic[Runs, Decides, Decided]):
    @abstractmethod
    def version(self, snapshot: Snapshot) -> tuple[Hashable, ...]:
        """What an answer about a stored snapshot depends on beside pod and policy."""

    @abstractmethod
    def scheduler(self, snapshot: Snapshot, runs: Runs) -> Decides:
        """The scheduler over a stored snapshot, which is shared and not to be changed."""

    def case(self, scheduler: Decides, pod_key: str) -> Decided:
        """What becomes of a pod; a bound one is taken off its node first.

        Raises NotFound where the snapshot has no such pod, Unprocessable where the scheduling cycle itself fails.
        """
        pod = self.pod(scheduler.snapshot, pod_key)
        bound_to = pod.node_name
        if bound_to:
            scheduler, pod = self._without(scheduler, pod_key)
        try:
            return self._explained(scheduler, pod, bound_to)
        except CycleError as error:
            raise Unprocessable(f"The scheduling cycle of {pod_key} fails: {error}") from None

    @staticmethod
    def pod(known: EngineSnapshot, pod_key: str) -> Pod:
        """The pod of that key; NotFound where there is none."""
        try:
            return known.pod(pod_key)
        except KeyError:
            raise NotFound(f"The snapshot has no pod {pod_key} that a scheduler would look at.") from None

    @abstractmethod
    def _without(self, scheduler: Decides, pod_key: str) -> tuple[Decides, Pod]:
        """The scheduler over the cluster without a bound pod, and the pod as if it were not bound."""

    @abstractmethod
    def _explained(self, scheduler: Decides, pod: Pod, bound_to: str) -> Decided: ...

    @abstractmethod
    def with_victims(self, case: Decided) -> Explanation:
        """As the explanation of a pod that fits nowhere, with what PostFilter finds, where evictions are simulated."""

    @abstractmethod
    def present(self, case: Decided, other: AnyCase | None = None) -> Presentation:
        """What pages show of a case; ``other`` is the same pod under another policy."""

    def told(self, case: Decided) -> dict[str, Any]:
        """What REST tells of it beside what it tells of every case."""
        return {}
