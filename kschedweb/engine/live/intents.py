"""Intents of the live loop: writes to the cluster, which its caller carries out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.preparation import FreeClaim, Preparation
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import POD_GROUP, PodGroup
from kschedweb.engine.values import dataclass

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
# kube-scheduler's name for the node where a group preempts on several nodes.
CLUSTER = "cluster"


class PodRef(NamedTuple):
    """A pod by name and uid: a pod of the same name with another uid is another pod."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kind(self) -> str:
        """Return the word that kube-scheduler uses for the preemptor."""
        return "pod"

    @classmethod
    def from_pod(cls, pod: Pod) -> PodRef:
        return cls(pod.namespace, pod.name, pod.uid)


class GroupRef(NamedTuple):
    """A group of pods, or of groups, by name and uid."""

    namespace: str
    name: str
    uid: str
    # Its kind of object.
    object_kind: str = POD_GROUP

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kind(self) -> str:
        """Return the word that kube-scheduler uses for the preemptor."""
        return self.object_kind.lower()

    @classmethod
    def from_group(cls, group: PodGroup) -> GroupRef:
        return cls(group.namespace, group.name, group.uid, group.kind)


@dataclass(frozen=True, slots=True)
class Intent:
    """Something to be done in the cluster."""


@dataclass(frozen=True, slots=True)
class PodIntent(Intent):
    pod: PodRef


@dataclass(frozen=True, slots=True)
class BindPod(PodIntent):
    """Write the binding, then report the result with ``on_bound`` or ``bind_failed``."""

    node: str
    decision: Decision
    # These must be written and have taken effect before the binding.
    preparations: tuple[Preparation, ...] = ()
    # Called before the binding if not ``None``: true if an extender has bound the pod, so that no binding is to be
    # written. Raises CycleError if the extender failed.
    extender: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class HoldPod(PodIntent):
    """Store that ``plugin`` lets the pod wait for an answer from outside, before anything else.

    The answer comes as ``allow_pod`` or ``reject_pod``. The loop itself never ends this wait.
    """

    node: str
    plugin: str
    # The longest time to wait, in seconds.
    seconds: float
    decision: Decision
    # What the plugin tells the people who answer.
    ask: Json


@dataclass(frozen=True, slots=True)
class WaitAtPermit(PodIntent):
    """The pod waits at Permit for ``plugins``; the first whose time is up rejects it."""

    node: str
    plugins: tuple[str, ...]
    # When the first time is up, in seconds of the epoch.
    deadline: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class ReportPod(PodIntent):
    """The pod was not scheduled: write an event FailedScheduling, and the condition PodScheduled."""

    # The condition's reason, Unschedulable or SchedulerError; "" asks for the event only.
    reason: str
    message: str
    # The status' nominatedNodeName; ``None`` leaves it as it is.
    nominated: str | None = None
    # ``None`` where there was no cycle.
    decision: Decision | None = None
    # False where the pod's status says all of this already.
    status_changes: bool = True


@dataclass(frozen=True, slots=True)
class EvictPod(PodIntent):
    """Evict the pod for ``preemptor``: give it the condition DisruptionTarget, and delete it."""

    preemptor: PodRef | GroupRef
    # The node of the pod, or ``CLUSTER`` where a group preempts on several nodes.
    node: str
    # The scheduler name of the preemptor.
    scheduler: str


@dataclass(frozen=True, slots=True)
class FreeDevices(PodIntent):
    """Free the devices of a claim that is reserved for this pod alone, so that others may be chosen."""

    claim: FreeClaim


@dataclass(frozen=True, slots=True)
class NominateNode(PodIntent):
    """Set the status' nominatedNodeName to ``node``; "" clears it."""

    node: str


@dataclass(frozen=True, slots=True)
class ReportGroup(Intent):
    """Write the group's condition PodGroupInitiallyScheduled, or CompositePodGroupInitiallyScheduled."""

    group: GroupRef
    status: str
    reason: str
    message: str
    # The generation of the object that was tried; 0 where it has none.
    generation: int
    # When the condition got this status, as the API writes times; "" for now.
    since: str


@dataclass(frozen=True, slots=True)
class Superseded(PodIntent):
    """End the request of a pod that is not held any more. A pod that still exists is tried again."""

    why: str
