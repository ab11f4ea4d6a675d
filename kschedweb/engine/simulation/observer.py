"""The events of a simulation, told to an observer while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.search_request import WITH_POST_FILTER, SearchRequest
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.simulation.pod_life import Departure, PodLife
from kschedweb.engine.state.watermarks.table import Watermarks


class Observer:
    """Hears of everything as it happens, and does nothing with it; times are seconds.

    A method may raise to end the simulation.
    """

    def passed(self, now: float) -> None:
        """Hear that everything due by ``now`` is done."""

    def arrived(self, life: PodLife, now: float) -> None:
        """Hear that a pod exists, perhaps on its node already."""

    def changed(self, life: PodLife, now: float) -> None:
        """Hear that the pod's object changed: it is terminating, say, or was nominated for a node."""

    def tries(self, life: PodLife, attempt: int, start: int, now: float) -> None:
        """Hear that the scheduler takes the pod for its ``attempt``-th try, and has not decided yet.

        ``start`` is the position of the node where its search for feasible nodes begins.
        """

    def tries_group(self, group: PodGroup, pods: Sequence[Pod], now: float) -> None:
        """Hear that a group is about to be tried, with its pods in this order; ``tries`` follows for each of them."""

    def request(self) -> SearchRequest:
        """Return what it wants to know of the next try."""
        return WITH_POST_FILTER

    @property
    def works_out(self) -> bool:
        """True if it can work out later the details of a try that is known to fail."""
        return False

    def skipped(self, life: PodLife, now: float) -> None:
        """Hear that a try was left out because it is known to fail; its message is not known."""

    def decided(self, pod: Pod, placement: Placement, now: float) -> None:
        """Hear the scheduler's decision, before anything of it happens."""

    def failed(self, life: PodLife, now: float) -> None:
        """Hear that the try failed: ``life`` has the number of tries and the last message."""

    def bound(self, life: PodLife, now: float) -> None:
        """Hear that the pod is on the node that ``life.pod`` names."""

    def evicted(self, life: PodLife, reason: str, now: float) -> None:
        """Hear that the pod must leave its node at ``life.leaves``."""

    def departed(self, life: PodLife, why: Departure, text: str, now: float) -> None:
        """Hear that the pod has left its node; ``text`` says who made it leave, "" if nobody did."""

    def withdrawn(self, life: PodLife, now: float) -> None:
        """Hear that a pod without a node was deleted."""

    def node_set(self, node: Node, now: float) -> None:
        """Hear that the node was added or changed."""

    def node_left(self, name: str, now: float) -> None:
        """Hear that the node is gone; its pods are reported on their own."""

    def reported(self, report: object, now: float) -> None:
        """Hear what an actor did; each kind of actor has its own type of reports."""

    def measured(self, watermarks: Watermarks, now: float) -> None:
        """Hear that the real use was measured."""
