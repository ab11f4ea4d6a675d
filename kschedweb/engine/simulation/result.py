"""What came of a simulation: plain data. Times are seconds."""

from __future__ import annotations

from dataclasses import asdict, field
from typing import Any

from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """A pod got its node after ``waited`` seconds and ``attempts`` tries."""

    time: float
    pod: str
    node: str
    waited: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A try to schedule a pod failed; ``by`` is empty where it was an error, ``nominated`` where room is being made."""

    time: float
    pod: str
    message: str
    by: tuple[str, ...] = ()
    nominated: str = ""


@dataclass(frozen=True, slots=True)
class GroupTried:
    """A group was tried: whether it was placed, the reason and message of its condition, and in which domain.

    Its pods are told of on their own. Not ``condition_changed``: the condition stays True, as it was before.
    ``victims`` have to go.
    """

    time: float
    group: str
    placed: bool
    reason: str
    message: str
    condition_changed: bool = True
    domain: str = ""
    victims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evicted:
    """A pod has to leave its node; it does at ``leaves``."""

    time: float
    pod: str
    node: str
    reason: str
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
    """A pod that waits still at the end: since when, how often it was tried, and what was said last."""

    pod: str
    arrived: float
    attempts: int
    message: str


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """How things stand at ``time``; ``unknown`` of the ``bound`` pods are on nodes whose kubelet is silent.

    ``use`` is the share of all nodes' allocatable that is requested, by resource.
    """

    time: float
    nodes: int
    bound: int
    active: int
    backing_off: int
    unschedulable: int
    gated: int
    unknown: int
    use: dict[str, float]

    @property
    def pending(self) -> int:
        return self.active + self.backing_off + self.unschedulable + self.gated


@dataclass(slots=True)
class Result:
    """Everything in the order in which it happened. ``ignored`` pods name a scheduler that is not simulated."""

    bound: list[Bound] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    evicted: list[Evicted] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    groups: list[GroupTried] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    samples: list[ClusterSample] = field(default_factory=list)
    refused: list[tuple[float, str]] = field(default_factory=list)
    """What admission said of pods that it did not take in, and controllers of claims that they could not make."""
    ignored: list[str] = field(default_factory=list)
    completed: int = 0
    end: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
