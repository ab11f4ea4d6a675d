"""The result of a simulation: plain data. Times are seconds."""

from __future__ import annotations

from dataclasses import asdict, field

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """A pod got its node."""

    time: float
    pod: str
    node: str
    # Seconds since it arrived.
    waited: float
    # Number of tries.
    attempts: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A try to schedule a pod failed."""

    time: float
    pod: str
    message: str
    # The plugins that rejected it; empty after an error.
    by: tuple[str, ...] = ()
    # The node where room is being made for it; "" for none.
    nominated: str = ""


@dataclass(frozen=True, slots=True)
class GroupTried:
    """A group was tried; its pods are reported on their own."""

    time: float
    # Its key; "compositepodgroup/" before that of a group of groups.
    group: str
    placed: bool
    # Reason and message of the group's condition.
    reason: str
    message: str
    # False if the condition stays True, as it was before.
    condition_changed: bool = True
    # The topology domain where it was placed.
    domain: str = ""
    # Keys of the pods that have to go.
    victims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evicted:
    """A pod has to leave its node."""

    time: float
    pod: str
    node: str
    reason: str
    # When it leaves.
    leaves: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A kubelet let a pod fail: its phase is Failed, with this reason and message."""

    time: float
    pod: str
    node: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A pod that still waits at the end."""

    pod: str
    # Since when it waits.
    arrived: float
    attempts: int
    # The last thing that was said about it.
    message: str


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """The state of the cluster at ``time``. Numbers are pods, but for ``nodes``."""

    time: float
    nodes: int
    bound: int
    active: int
    backing_off: int
    unschedulable: int
    gated: int
    # Those of the ``bound`` pods whose node's kubelet is silent.
    unknown: int
    # resource -> requested share of all nodes' allocatable
    use: dict[str, float]

    @property
    def pending(self) -> int:
        return self.active + self.backing_off + self.unschedulable + self.gated


@dataclass(slots=True)
class Result:
    """Everything that happened, in order."""

    bound: list[Bound] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    evicted: list[Evicted] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    groups: list[GroupTried] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    samples: list[ClusterSample] = field(default_factory=list)
    # (time, text): pods that admission refused, and claims that controllers could not create.
    refused: list[tuple[float, str]] = field(default_factory=list)
    # Pods that name a scheduler that is not simulated.
    ignored: list[str] = field(default_factory=list)
    completed: int = 0
    # When the simulation ended.
    end: float = 0.0

    def to_dict(self) -> Json:
        return asdict(self)
