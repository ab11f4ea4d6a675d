"""What plugins are asked about a group of pods, beside what they are asked about each of them.

A group is tried in *domains*: sets of nodes, kube-scheduler's placements of a group. Without a plugin that proposes
some there is one, all nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.preparation import FreeClaim
from kschedweb.engine.framework.status import Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

UNPLACED = "pod group is unschedulable"


@dataclass(frozen=True, slots=True)
class Domain:
    """Nodes that the pods of a group may share: their positions, in node order. ``name`` is the label's value."""

    name: str
    nodes: NDArray[np.intp]

    @classmethod
    def all_nodes(cls, snapshot: Snapshot) -> Domain:
        """All nodes."""
        return cls("", np.arange(len(snapshot), dtype=np.intp))


@dataclass(frozen=True, slots=True)
class GroupCycle:
    """One try to place ``group``: ``pods`` are those without a node, in the order in which they are tried.

    ``prepared`` has the plugins whose PreFilter was asked about one of them at least, ``frees`` the claims that each
    plugin would give back for a pod: by plugin and key of the pod, as of the pod's last try.
    """

    snapshot: Snapshot
    group: PodGroup
    pods: Sequence[Pod]
    prepared: frozenset[str] = frozenset()
    frees: Mapping[tuple[str, str], tuple[FreeClaim, ...]] = field(default_factory=dict)

    @property
    def scheduled_pods(self) -> list[Pod]:
        """The pods of the group that are on nodes, or are assumed to be."""
        return self.snapshot.group_members(self.group.key)


class Progress(NamedTuple):
    """How many pods have a node, and how many are still to be tried."""

    scheduled: int
    remaining: int


class Assignment(NamedTuple):
    """A pod and the node that was found for it."""

    pod: Pod
    node: str


@dataclass(frozen=True, slots=True)
class DomainScore:
    """What plugins give to a domain, weighted, by plugin."""

    domain: Domain
    scores: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.scores.values())


@dataclass(frozen=True, slots=True)
class GroupRoom:
    """What became of the search for room for a group.

    With success ``nominated`` has the node that each pod waits for, by key ("": none); ``victims`` have to go first.
    ``frees`` are claims whose devices have to be given back for a pod, by its key, be there success or not.
    """

    status: Status
    nominated: dict[str, str] = field(default_factory=dict)
    victims: tuple[Pod, ...] = ()
    violations: int = 0  # how many of the victims a disruption budget would keep
    frees: Mapping[str, tuple[FreeClaim, ...]] = field(default_factory=dict)


class AssignedPods(Protocol):
    """The pods of a group on the nodes found for them, while other pods come to nodes and leave them."""

    def moved(self, pod: Pod, node: int, *, add: bool) -> None:
        """Tell the plugins that ``pod`` came to the node at a position of the snapshot, or left it."""

    def fit(self, nodes: Collection[int]) -> bool:
        """Whether all of them still pass the filters, each beside those before it; pods have moved on ``nodes``."""


class GroupHandle(Protocol):
    """What a plugin may ask of the cycle of a group that found no place."""

    def find_on(self, snapshot: Snapshot) -> tuple[Status, list[Assignment]]:
        """Where the pods would go on ``snapshot``, which is left as it was."""

    def assigned(self, snapshot: Snapshot, assignments: Sequence[Assignment]) -> AssignedPods:
        """The pods that were assigned on ``snapshot``, in that order."""


@runtime_checkable
class PlacementFeasiblePlugin(Protocol):
    """Can the group be placed still? ``Wait``: perhaps, once more pods have a node; ``Unschedulable``: no."""

    name: str

    def placement_feasible(self, cycle: GroupCycle, progress: Progress) -> Status: ...


@runtime_checkable
class PlacementGeneratePlugin(Protocol):
    """Propose domains within ``parent``; a status that is no success ends the cycle."""

    name: str

    def generate_placements(self, cycle: GroupCycle, parent: Domain) -> tuple[list[Domain], Status]: ...


@runtime_checkable
class PlacementScorePlugin(Protocol):
    """Give a domain in which ``assigned`` were placed a score."""

    name: str

    def score_placement(self, cycle: GroupCycle, domain: Domain, assigned: Sequence[Assignment]) -> int: ...


@runtime_checkable
class NormalizePlacementScorePlugin(Protocol):
    """Raw scores of all domains to scores from 0 to 100. Raises CycleError."""

    name: str

    def normalize_placement_scores(self, cycle: GroupCycle, scores: Sequence[int]) -> list[int]: ...


@runtime_checkable
class FreeingPlugin(Protocol):
    """A pod of a group was tried: which claims have to be given back, if the group finds no place?"""

    name: str

    def frees_for(self, cycle: Cycle, diagnosis: Diagnosis) -> tuple[FreeClaim, ...]: ...


@runtime_checkable
class PodGroupPostFilterPlugin(Protocol):
    """The group found no place: can room be made?"""

    name: str

    def pod_group_post_filter(self, cycle: GroupCycle, handle: GroupHandle) -> GroupRoom: ...
