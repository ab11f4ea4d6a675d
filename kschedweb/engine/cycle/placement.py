"""The result of one scheduling cycle."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.framework.decision import UNTIMED, Decision, RankedNode, Stopwatch
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle, PostFilterResult
from kschedweb.engine.framework.preparation import FreeClaim
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Placement:
    """The result of one scheduling cycle."""

    pod: str
    # "" if the pod does not fit.
    node: str = ""
    # The number of nodes that the cycle filtered; 0 if PreFilter rejected the pod outright.
    evaluated: int = 0
    feasible: int = 0
    # Why the pod does not fit.
    message: str = ""
    # Pods evicted, or to be evicted, to make room on `nominated`.
    victims: tuple[str, ...] = ()
    # PostFilter's part of the message.
    post_filter: str = ""
    # The node where room can be made; "" cancels an earlier nomination, None keeps it.
    nominated: str | None = None
    # The plugins that made the pod unschedulable; none if the cycle ended in an error.
    rejected_by: frozenset[str] = frozenset()
    # The node's total less the next best; None if there is no other, or if no plugin needs it.
    margin: int | None = None
    # The number of equally good nodes that `node` was drawn from, 0 if it was not drawn.
    drawn: int = 0
    # Claims whose devices have to be given back for the pod.
    frees: tuple[FreeClaim, ...] = ()
    # The best nodes, the chosen one first, if the request asks for them.
    top: tuple[RankedNode, ...] = ()
    # The pod was not placed because its group was not; no plugin rejected it.
    with_group: bool = False
    # PreFilter rejected the pod, so that no filter ran.
    rejected_by_prefilter: bool = False
    # Measured the cycle, if it is one of a group's.
    watch: Stopwatch = field(default=UNTIMED, compare=False, repr=False)

    def to_decision(self, pod: Pod, now: float, attempt: int = 1, watch: Stopwatch = UNTIMED) -> Decision:
        """Convert it to the decision that Permit plugins and others read; ``now`` is seconds of the epoch.

        What ``watch`` measures later in this cycle becomes part of the decision too.
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
        """True if the cycle ended in an error, as opposed to finding that no node fits."""
        return not (self.node or self.rejected_by or self.with_group)

    @property
    def condition(self) -> str:
        """The whole message, as in the condition PodScheduled."""
        return f"{self.message} {self.post_filter}" if self.post_filter else self.message

    def to_dict(self) -> Json:
        result: Json = {"pod": self.pod}
        if self.node:
            result["node"] = self.node
        # kube-scheduler's ScheduleResult counts nothing where it ends in a FitError.
        result.update(evaluated=self.evaluated if self.node else 0, feasible=self.feasible)
        if self.message:
            result["message"] = self.message
        if self.victims:
            result["victims"] = list(self.victims)
        return result

    def to_condition(self) -> Json:
        """Return the node, or the message of the pod's condition and its nominated node."""
        if self.node:
            return {"pod": self.pod, "node": self.node}
        return {"pod": self.pod, "message": self.condition, **({"nominated": self.nominated} if self.nominated else {})}


@dataclass(frozen=True, slots=True)
class FitFailure:
    """A cycle that found no node, with what its PostFilter plugins need."""

    cycle: Cycle
    diagnosis: Diagnosis
    handle: CycleHandle
    # The plugins whose PreFilter excluded nodes.
    narrowed_by: tuple[str, ...] = ()

    def placement(self) -> Placement:
        rejected_by = self.diagnosis.unschedulable_plugins.union(self.narrowed_by)
        message, looked_at = self.diagnosis.message(), self.diagnosis.explicit_count
        rejected_by_prefilter = bool(self.diagnosis.pre_filter)
        return Placement(
            self.cycle.pod.key,
            evaluated=looked_at,
            message=message,
            rejected_by=rejected_by,
            rejected_by_prefilter=rejected_by_prefilter,
        )

    def post_filter(self) -> PostFilterResult:
        return self.handle.framework.post_filter(self.cycle, self.diagnosis, self.handle)
