"""Extension points for a group of pods, beside those for each of its pods.

A group is tried in *domains*: sets of nodes, kube-scheduler's placements of a group. Without a plugin that proposes
some there is one domain, all nodes.
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
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

UNPLACED = "pod group is unschedulable"


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of nodes that the pods of a group may share."""

    # Value of the topology label; "" for the domain of all nodes.
    name: str
    # Positions, in node order.
    nodes: NDArray[np.intp]

    @classmethod
    def all_nodes(cls, snapshot: Snapshot) -> Domain:
        """Return the domain of all nodes."""
        return cls("", np.arange(len(snapshot), dtype=np.intp))

    @classmethod
    def none(cls) -> Domain:
        """Return a domain without nodes."""
        return cls("", np.arange(0, dtype=np.intp))


def merge_domains(domains: Sequence[Domain], others: Sequence[Domain]) -> list[Domain]:
    """Return each of ``domains`` cut with each of ``others``, without those that have no node left."""
    merged = [
        Domain(f"{domain.name}/{other.name}", domain.nodes[np.isin(domain.nodes, other.nodes)])
        for domain in domains
        for other in others
    ]
    return [domain for domain in merged if len(domain.nodes)]


@dataclass(frozen=True, slots=True)
class GroupCycle:
    """One try to place ``group``."""

    snapshot: Snapshot
    group: PodGroup
    # The group's pods without a node, in the order in which they are tried: of a tree those of all its groups.
    pods: Sequence[Pod]
    # Plugins whose PreFilter was called for at least one of the pods.
    prepared: frozenset[str] = frozenset()
    # Claims that a plugin would give back for a pod, by plugin and the pod's key, as of the pod's last try.
    frees: Mapping[tuple[str, str], tuple[FreeClaim, ...]] = field(default_factory=dict)

    @property
    def scheduled_pods(self) -> list[Pod]:
        """The pods of the group, and of all below it, that are on nodes, or are assumed to be."""
        leaves = self.snapshot.objects.groups.list_leaves(self.group)
        return [pod for leaf in leaves for pod in self.snapshot.group_members(leaf.key)]


class Progress(NamedTuple):
    """The progress of placing a group, in pods; of a composite group in groups."""

    # Those that have a node, or are placed.
    scheduled: int
    # Those that are still to be tried.
    remaining: int
    # Those that were tried in vain.
    unschedulable: int = 0

    def advance(self, *, scheduled: bool) -> Progress:
        """Return the progress after one more was tried."""
        return Progress(self.scheduled + scheduled, self.remaining - 1, self.unschedulable + (not scheduled))


class Assignment(NamedTuple):
    """A pod and the node that was found for it."""

    pod: Pod
    node: str


@dataclass(frozen=True, slots=True)
class DomainScore:
    """The weighted scores of a domain."""

    domain: Domain
    # By plugin.
    scores: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.scores.values())


@dataclass(frozen=True, slots=True)
class GroupRoom:
    """The result of a search for room for a group."""

    # Success if room can be made.
    status: Status
    # The node that each pod waits for, by the pod's key; "" for none. Filled only with success.
    nominated: dict[str, str] = field(default_factory=dict)
    # Pods that have to be evicted first.
    victims: tuple[Pod, ...] = ()
    # Number of victims that a disruption budget would keep.
    violations: int = 0
    # Claims whose devices have to be given back for a pod, by its key; filled without success, too.
    frees: Mapping[str, tuple[FreeClaim, ...]] = field(default_factory=dict)
    # Nodes for which pods of lower priority lose their nomination.
    cleared_nodes: frozenset[str] = frozenset()


class NodeRanking(Protocol):
    """An order in which nodes are tried for a group, and what a pod's node changes about it."""

    @property
    def ranks(self) -> Ints:
        """The rank of each node, the lowest first; only the lowest that fit are scored. Shape [nodes]."""


class AssignedPods(Protocol):
    """The pods of a group on their assigned nodes, while other pods come and go."""

    def notify_move(self, pod: Pod, node: int, *, add: bool) -> None:
        """Tell the plugins that ``pod`` came to the node at a position of the snapshot, or left it."""

    def fit(self, nodes: Collection[int]) -> bool:
        """Return whether all of them still pass the filters, each beside those before it, after pods moved on
        ``nodes``.
        """


class GroupHandle(Protocol):
    """The questions that a plugin may ask about a group that found no place."""

    def find_on(self, snapshot: Snapshot, ranking: NodeRanking | None = None) -> tuple[Status, list[Assignment]]:
        """Return the nodes that the pods would be assigned to on ``snapshot``, which stays unchanged.

        With ``ranking`` they are tried in its order.
        """

    def assigned(self, snapshot: Snapshot, assignments: Sequence[Assignment]) -> AssignedPods:
        """Return the pods that were assigned on ``snapshot``, in that order."""


@runtime_checkable
class PlacementFeasiblePlugin(Protocol):
    """A plugin that decides whether the group can still be placed.

    ``Wait`` means perhaps, once more pods have a node; ``Unschedulable`` means no.
    """

    name: str

    def placement_feasible(self, cycle: GroupCycle, progress: Progress) -> Status: ...


@runtime_checkable
class PlacementGeneratePlugin(Protocol):
    """A plugin that proposes domains within ``parent``. A status other than success ends the cycle."""

    name: str

    def generate_placements(self, cycle: GroupCycle, parent: Domain) -> tuple[list[Domain], Status]: ...


@runtime_checkable
class PlacementScorePlugin(Protocol):
    """A plugin that scores a domain in which ``assigned`` were placed."""

    name: str

    def score_placement(self, cycle: GroupCycle, domain: Domain, assigned: Sequence[Assignment]) -> int: ...


@runtime_checkable
class NormalizePlacementScorePlugin(Protocol):
    """A plugin that turns the raw scores of all domains into scores from 0 to 100. Raises CycleError."""

    name: str

    def normalize_placement_scores(self, cycle: GroupCycle, scores: Sequence[int]) -> list[int]: ...


@runtime_checkable
class FreeingPlugin(Protocol):
    """A plugin that names, after a pod of a group was tried, the claims to give back if the group finds no place."""

    name: str

    def frees_for(self, cycle: Cycle, diagnosis: Diagnosis) -> tuple[FreeClaim, ...]: ...


@runtime_checkable
class PodGroupPostFilterPlugin(Protocol):
    """A plugin that looks for room for a group that found no place."""

    name: str

    def pod_group_post_filter(self, cycle: GroupCycle, handle: GroupHandle) -> GroupRoom: ...
