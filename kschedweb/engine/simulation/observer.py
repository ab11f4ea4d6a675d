"""What is told of a simulation while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.search_request import WITH_POST_FILTER, SearchRequest
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.simulation.pod_life import Departure, Life
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class ScalingObservation:
    """A look at a workload that is scaled: ``replicas`` are asked for after it, ``before`` were; ``ready`` pods are.

    ``utilization`` is in percent of requests, ``None`` where it is not known, ``target`` what is aimed at, ``None``
    where nothing is. ``reason`` says why the number changes, "" where it does not.
    """

    workload: str
    before: int
    replicas: int
    ready: int
    utilization: int | None
    target: int | None
    reason: str


LAUNCHED, REMOVED = "launched", "removed"


@dataclass(frozen=True, slots=True)
class Deed:
    """What an autoscaler did with a node: asked for it, or deleted it; ``text`` says as what, or why."""

    action: str
    node: str
    text: str


@dataclass(frozen=True, slots=True)
class DescheduledPod:
    """A pod that a plugin of one of the descheduler's profiles evicts."""

    life: Life
    plugin: str
    profile: str


@dataclass(frozen=True, slots=True)
class DeschedulerRound:
    """A cycle of the descheduler, counted from 1. ``refused`` evictions did not happen; ``note`` is why plugins did
    nothing, "" for nothing said."""

    number: int
    evicted: tuple[DescheduledPod, ...]
    refused: int
    note: str


class Observer:
    """Hears of everything as it happens, and does nothing with it; times are seconds.

    A method may raise to end the simulation.
    """

    def passed(self, now: float) -> None:
        """All that was due by ``now`` is done."""

    def arrived(self, life: Life, now: float) -> None:
        """A pod is there, perhaps on its node already."""

    def changed(self, life: Life, now: float) -> None:
        """The pod's object changed: it is terminating, say, or waits for room on a node now."""

    def tries(self, life: Life, attempt: int, start: int, now: float) -> None:
        """The scheduler takes the pod for its ``attempt``-th try, and has not decided yet.

        ``start`` is the position of the node where its search for feasible nodes begins.
        """

    def tries_group(self, group: PodGroup, pods: Sequence[Pod], now: float) -> None:
        """A group is about to be tried, with these pods in that order; each of them is told of after this."""

    def request(self) -> SearchRequest:
        """What it wants to know of the try that is made next."""
        return WITH_POST_FILTER

    @property
    def works_out(self) -> bool:
        """Whether it can work out later what a try now would say that is known to come to nothing, if it needs that."""
        return False

    def skipped(self, life: Life, now: float) -> None:
        """The try is not made, for it comes to nothing; what it would say is not known."""

    def decided(self, pod: Pod, placement: Placement, now: float) -> None:
        """What the scheduler came to; nothing of it has happened yet."""

    def failed(self, life: Life, now: float) -> None:
        """The try came to nothing: ``life`` says how many there were, and what was said of the last."""

    def bound(self, life: Life, now: float) -> None:
        """The pod is on its node, which ``life.pod`` names."""

    def evicted(self, life: Life, reason: str, now: float) -> None:
        """The pod must leave its node; ``life.leaves`` says when it will."""

    def left(self, life: Life, why: Departure, text: str, now: float) -> None:
        """The pod is on its node no longer; ``text`` says who made it leave, "" where nobody did."""

    def withdrawn(self, life: Life, now: float) -> None:
        """A pod without a node was deleted."""

    def node_set(self, node: Node, now: float) -> None:
        """The node came or changed."""

    def node_left(self, name: str, now: float) -> None:
        """The node is gone; its pods are told of on their own."""

    def scaled(self, look: ScalingObservation, now: float) -> None:
        """Somebody looked at a workload that is scaled, and perhaps changed its number of pods."""

    def autoscaled(self, deed: Deed, now: float) -> None:
        """An autoscaler asked for a node, or deleted one."""

    def descheduled(self, cycle: DeschedulerRound, now: float) -> None:
        """The descheduler went through the cluster; what it evicts is told of on its own after this."""

    def measured(self, watermarks: Watermarks, now: float) -> None:
        """What is really used was measured."""
