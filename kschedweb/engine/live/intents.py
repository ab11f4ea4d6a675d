"""What the live loop wants done in the cluster. It does nothing there itself: its caller carries out the intents."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.framework.preparation import FreeClaim, Preparation
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.values import dataclass

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
CLUSTER = "cluster"


class PodRef(NamedTuple):
    """Which pod is meant; a pod of the same name with another uid is another pod."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kind(self) -> str:
        """As kube-scheduler calls it where it evicts for it."""
        return "pod"

    @classmethod
    def from_pod(cls, pod: Pod) -> PodRef:
        return cls(pod.namespace, pod.name, pod.uid)


class GroupRef(NamedTuple):
    """Which group of pods is meant."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kind(self) -> str:
        """As kube-scheduler calls it where it evicts for it."""
        return "podgroup"

    @classmethod
    def from_group(cls, group: PodGroup) -> GroupRef:
        return cls(group.namespace, group.name, group.uid)


@dataclass(frozen=True, slots=True)
class Intent:
    """What is to be done in the cluster."""


@dataclass(frozen=True, slots=True)
class PodIntent(Intent):
    pod: PodRef


@dataclass(frozen=True, slots=True)
class BindPod(PodIntent):
    """Write the binding, then say ``bound`` or ``bind_failed``.

    ``preparations`` have to be written, and to have taken effect, before. Where ``extender`` is not ``None`` it is
    called first: it says whether an extender bound the pod, else the binding is to be written; CycleError: it failed.
    """

    node: str
    decision: Decision
    preparations: tuple[Preparation, ...] = ()
    extender: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class HoldPod(PodIntent):
    """``plugin`` lets the pod wait up to ``seconds`` for an answer from outside. Store this before anything else.

    The answer comes as ``allow`` or ``reject``; the loop itself never ends the wait by time. ``ask`` is what the plugin
    tells the people who answer.
    """

    node: str
    plugin: str
    seconds: float
    decision: Decision
    ask: Json


@dataclass(frozen=True, slots=True)
class WaitAtPermit(PodIntent):
    """``plugins`` let the pod wait at Permit. Without an answer, the first whose time is up rejects it.

    ``deadline`` is that time, in seconds of the epoch.
    """

    node: str
    plugins: tuple[str, ...]
    deadline: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class ReportPod(PodIntent):
    """The pod was not scheduled: an event FailedScheduling with ``message``, and the condition PodScheduled.

    ``reason`` is the condition's: Unschedulable or SchedulerError; "" asks for the event only. ``nominated`` is the
    status' nominatedNodeName, ``None`` leaves it as it is. Where ``status_changes`` is false the pod's status says all
    of this already. ``decision`` is ``None`` where there was no cycle.
    """

    reason: str
    message: str
    nominated: str | None = None
    decision: Decision | None = None
    status_changes: bool = True


@dataclass(frozen=True, slots=True)
class EvictPod(PodIntent):
    """Evict the pod for ``preemptor``, of that ``scheduler``: it gets the condition DisruptionTarget and is deleted.

    It is on ``node``; where a group preempts, on any of them, which kube-scheduler calls ``CLUSTER``.
    """

    preemptor: PodRef | GroupRef
    node: str
    scheduler: str


@dataclass(frozen=True, slots=True)
class FreeDevices(PodIntent):
    """A claim that is reserved only for this pod gives its devices back, so that others may be chosen."""

    claim: FreeClaim


@dataclass(frozen=True, slots=True)
class NominateNode(PodIntent):
    """Set the status' nominatedNodeName to ``node``, "" clears it."""

    node: str


@dataclass(frozen=True, slots=True)
class ReportGroup(Intent):
    """The group's condition PodGroupInitiallyScheduled is this now.

    ``generation`` is that of the object which was tried, 0 where it says none. ``since`` is when the condition got this
    status, in the API's words, "" for now.
    """

    group: GroupRef
    status: str
    reason: str
    message: str
    generation: int
    since: str


@dataclass(frozen=True, slots=True)
class Superseded(PodIntent):
    """The pod is not held any more (``why``): its request ends. If the pod still exists, it is tried again."""

    why: str
