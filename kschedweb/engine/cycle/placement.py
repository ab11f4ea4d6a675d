"""The result of one scheduling cycle."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kschedweb.engine.framework.decision import UNTIMED, Decision, RankedNode, Stopwatch
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle, PostFilterResult
from kschedweb.engine.framework.preparation import FreeClaim
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Placement:
    """The result of one scheduling cycle. ``node`` is "" if the pod does not fit; ``message`` then says why.

    Where PostFilter was asked, ``post_filter`` is its part of the message, ``nominated`` the node where room can be
    made ("": an earlier nomination is void, ``None``: it stays), ``victims`` the pods that have to go from there, and
    ``frees`` the claims whose devices have to be given back.
    ``rejected_by`` names the plugins that made the pod unschedulable, none where the cycle ended in an error.
    ``evaluated`` is the number of nodes that the cycle looked at: none where PreFilter rejected the pod outright.
    ``margin`` is the node's total less the next best, ``None`` where there was no other, or where no plugin asks.
    ``with_group``: it was not placed because its group was not, which no plugin answers for.
    ``outright``: PreFilter rejected the pod, so that no filter was asked.
    ``drawn`` is the number of equally good nodes that ``node`` was drawn from, 0 if it was not drawn.
    ``top`` are the best nodes, the chosen one first, where the scheduler is to tell of them.
    ``watch`` measured the cycle, where it was one of a group's.
    """

    pod: str
    node: str = ""
    evaluated: int = 0
    feasible: int = 0
    message: str = ""
    victims: tuple[str, ...] = ()  # evicted to make room, or to be evicted
    post_filter: str = ""
    nominated: str | None = None
    rejected_by: frozenset[str] = frozenset()
    margin: int | None = None
    drawn: int = 0
    frees: tuple[FreeClaim, ...] = ()
    top: tuple[RankedNode, ...] = ()
    with_group: bool = False
    outright: bool = False
    watch: Stopwatch = field(default=UNTIMED, compare=False, repr=False)

    def to_decision(self, pod: Pod, now: float, attempt: int = 1, watch: Stopwatch = UNTIMED) -> Decision:
        """The same for Permit plugins, and others, to read; ``now`` is seconds of the epoch.

        What ``watch`` goes on to measure in this cycle becomes part of the decision too.
        """
        return Decision(
            pod=self.pod,
            uid=pod.uid,
            time=now,
            profile=pod.scheduler_name,
            attempt=attempt,
            node=self.node,
            evaluated=self.evaluated,
            feasible=self.feasible,
            top=self.top,
            margin=self.margin,
            drawn=self.drawn,
            message=self.condition,
            rejected_by=tuple(sorted(self.rejected_by)),
            durations=watch.laps,
            codes=watch.codes,
            calls=watch.calls,
            post_filter=self.post_filter,
            nominated=self.nominated,
        )

    @property
    def is_error(self) -> bool:
        """Whether the cycle ended in an error, rather than finding that no node fits."""
        return not (self.node or self.rejected_by or self.with_group)

    @property
    def condition(self) -> str:
        """The whole message, as in the condition PodScheduled."""
        return f"{self.message} {self.post_filter}" if self.post_filter else self.message

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"pod": self.pod}
        if self.node:
            result["node"] = self.node
        # kube-scheduler's ScheduleResult counts nothing where it ends in a FitError.
        result.update(evaluated=self.evaluated if self.node else 0, feasible=self.feasible)
        if self.message:
            result["message"] = self.message
        if self.victims:
            result["victims"] = list(self.victims)
        return result

    def to_condition(self) -> dict[str, Any]:
        """The node, or the message of the pod's condition and the node nominated for it."""
        if self.node:
            return {"pod": self.pod, "node": self.node}
        return {"pod": self.pod, "message": self.condition, **({"nominated": self.nominated} if self.nominated else {})}


@dataclass(frozen=True, slots=True)
class FitFailure:
    """A cycle that found no node, with what its PostFilter plugins need."""

    cycle: Cycle
    diagnosis: Diagnosis
    handle: CycleHandle
    narrowed_by: tuple[str, ...] = ()  # the plugins whose PreFilter left nodes out

    def placement(self) -> Placement:
        rejected_by = self.diagnosis.unschedulable_plugins.union(self.narrowed_by)
        message, looked_at = self.diagnosis.message(), self.diagnosis.explicit_count
        outright = bool(self.diagnosis.pre_filter)
        return Placement(
            self.cycle.pod.key, evaluated=looked_at, message=message, rejected_by=rejected_by, outright=outright
        )

    def post_filter(self) -> PostFilterResult:
        return self.handle.framework.post_filter(self.cycle, self.diagnosis, self.handle)
