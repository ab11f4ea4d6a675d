"""Compute how many more gangs fit: place gang after gang until one does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.cycle.group_placement import DomainTry, GroupPlacement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.status import OUTSIDE, Code, CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import API, POD_GROUP, VERSION, PodGroup, list_required_gates
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.capacity import problem_note
from kschedweb.engine.studies.capacity.shapes import PodShape
from kschedweb.engine.values import dataclass

MOST_GANGS = 10_000
# Pods of all gangs together.
MOST_PODS = 100_000
# Code for a pod without a node.
UNPLACED = -1
# Gets the numbers of placed gangs and of tried pods; False stops.
Check = Callable[[int, int], bool]


@dataclass(frozen=True)
class Gang:
    """Pods of a shape that start together."""

    shape: PodShape
    pods: int
    # minCount of the group: pods that must find a node; 0 for all.
    min_members: int = 0
    # Node label whose value all nodes of a gang share; "" for none.
    topology_key: str = ""

    @property
    def min_count(self) -> int:
        return self.min_members or self.pods

    @property
    def gates(self) -> tuple[str, ...]:
        """The feature gates without which kube-scheduler does not schedule such a gang."""
        return list_required_gates(self.topology_key)


@dataclass(frozen=True)
class DomainResult:
    """The reason why the next gang does not fit a domain."""

    # The domain; "" for all nodes together.
    name: str
    # Number of its nodes.
    nodes: int
    # Pods that found a node.
    placed: int
    # The first pod that found none; "" if no pod was tried.
    pod: str
    # The scheduler's message about this pod, or about the gang if no pod was tried.
    message: str


@dataclass(frozen=True)
class GangFit:
    """The placed gangs."""

    # Names of nodes by position.
    names: list[str]
    # Pods of a gang.
    pods: int
    # Node of each pod, int[count, pods]; UNPLACED for none.
    order: NDArray[np.intp]
    # Domain of each gang; "" without a topology key.
    domains: list[str]
    limit: int
    # The scheduler's message on the first gang that does not fit; "" if the limit came first, or if the search stopped.
    message: str = ""
    # The result of this gang in each of its domains.
    results: tuple[DomainResult, ...] = ()
    # True if the time was over.
    stopped: bool = False
    # True if the cycle of that gang ended in an error, which tells nothing about room.
    failed: bool = False
    notes: tuple[str, ...] = ()
    # True if claims are left out that would limit the number.
    unlimited: bool = False

    @property
    def count(self) -> int:
        return len(self.order)

    @property
    def exact(self) -> bool:
        """True if exactly so many fit; else ``count`` is a lower bound, or an upper one if it is ``unlimited``."""
        return bool(self.message) and not (self.failed or self.unlimited)

    @property
    def by_node(self) -> Ints:
        """The number of pods on each node. Shape [nodes]."""
        return np.bincount(self.order[self.order >= 0], minlength=len(self.names)).astype(np.int64)

    def nodes_of(self, gang: int) -> dict[str, int]:
        """Return the number of pods of the gang at position ``gang`` by node, in the order of the nodes."""
        row = self.order[gang]
        nodes, counts = np.unique(row[row >= 0], return_counts=True)
        return {self.names[node]: count for node, count in zip(nodes.tolist(), counts.tolist(), strict=True)}


class _FitEnd(TypedDict, total=False):
    """The fields of a `GangFit` that tell how it ended."""

    message: str
    results: tuple[DomainResult, ...]
    stopped: bool
    failed: bool


class _OutOfTimeError(Exception):
    """End a search in the midst of a gang."""


class _CheckedStopwatch(Stopwatch):
    """Ask ``check`` before each pod, because one gang may be tried in many domains."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        self._check, self.gangs, self._tried = check, 0, 0

    def with_same_clock(self) -> Stopwatch:
        return self

    def start(self) -> None:
        if not self._check(self.gangs, self._tried):
            raise _OutOfTimeError
        self._tried += 1


def fit_gangs(
    snapshot: Snapshot,
    configuration: Configuration,
    gang: Gang,
    *,
    limit: int = MOST_GANGS,
    registry: Mapping[str, PluginFactory] | None = None,
    check: Check | None = None,
) -> GangFit:
    """Place gangs in a copy of ``snapshot`` as kube-scheduler does, at most ``limit`` and ``MOST_PODS`` pods.

    There is no preemption, and no pod waits for approval. ``check`` is called before each pod. Raise ValueError if the
    release of ``configuration`` does not schedule such gangs (``Gang.gates``), or if ``min_members`` is larger than
    ``pods``.
    """
    if not configuration.release.has_group_scheduling or not all(map(configuration.release.is_enabled, gang.gates)):
        raise ValueError(f"{configuration.release.title} does not schedule such gangs")
    if not 1 <= gang.min_count <= gang.pods:
        raise ValueError(f"a gang of {gang.pods} pods cannot wait for {gang.min_count}")
    scheduler = Scheduler.from_configuration(snapshot.copy(), configuration, registry)
    watch = _CheckedStopwatch(check or (lambda _gangs, _pods: True))
    limit = min(limit, max(MOST_PODS // gang.pods, 1))
    rows: list[list[int]] = []
    domains: list[str] = []
    end: _FitEnd = {}
    problems: list[str] = []
    while not end and len(rows) < limit:
        watch.gangs = len(rows)
        group, clones = _create_gang(scheduler, gang, len(rows))
        pods, problems = _with_claims(scheduler, clones)
        try:
            group_placement = scheduler.schedule_group(group, pods, SearchRequest(watch=watch))
        except _OutOfTimeError:
            end = {"stopped": True}
        except CycleError as error:
            end = {"message": str(error), "failed": True}
        else:
            nodes = [scheduler.snapshot.index.get(placement.node, UNPLACED) for placement in group_placement.placements]
            if group_placement.placed and len(nodes) - nodes.count(UNPLACED) >= gang.min_count:
                rows.append(nodes)
                domains.append(group_placement.domain)
            else:
                end = _describe_refusal(group_placement, pods)
    order = np.array(rows, dtype=np.intp).reshape(len(rows), gang.pods)
    notes = (*gang.shape.notes, *map(problem_note, problems))
    unlimited = bool(gang.shape.left_out)
    return replace(GangFit(snapshot.names, gang.pods, order, domains, limit, notes=notes, unlimited=unlimited), **end)


def _with_claims(scheduler: Scheduler, clones: Sequence[Pod]) -> tuple[list[Pod], list[str]]:
    """Return the pods with the claims that controllers make for them, and the problems of those of the first pod."""
    pods_with_claims = [scheduler.create_claims(pod) for pod in clones]
    return [pod for pod, _ in pods_with_claims], pods_with_claims[0][1]


def _create_gang(scheduler: Scheduler, gang: Gang, placed: int) -> tuple[PodGroup, list[Pod]]:
    """Create the next gang and its pods, and add the group to the snapshot."""
    groups, namespace = scheduler.snapshot.objects.groups, gang.shape.namespace
    name = f"{gang.shape.name}-{placed + 1}"
    while groups.get(f"{namespace}/{name}") or groups.member_count(f"{namespace}/{name}"):
        name += "-x"
    spec = {**gang.shape.raw["spec"], "schedulingGroup": {"podGroupName": name}}
    shape = replace(gang.shape, raw={**gang.shape.raw, "spec": spec})
    first, counting = placed * gang.pods + 1, scheduler.configuration.release.counting
    pods = [shape.clone(number).with_counting(counting) for number in range(first, first + gang.pods)]
    constraints: Json = {"topology": [{"key": gang.topology_key}]} if gang.topology_key else {}
    group = PodGroup.from_json(
        {
            "apiVersion": f"{API}/{VERSION}",
            "kind": POD_GROUP,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": gang.min_count}},
                "schedulingConstraints": constraints,
                "priority": pods[0].priority,
            },
        }
    )
    groups.put_group(group)
    return group, pods


def _describe_refusal(group_placement: GroupPlacement, pods: Sequence[Pod]) -> _FitEnd:
    """Return how a fit ends whose next gang does not fit."""
    few = f"too few of its pods found a node, and no plugin of the profile counts them: {group_placement.blocking}"
    return {
        "message": few if group_placement.placed else group_placement.status.message or "no reason is given",
        "results": tuple(_domain_result(domain_try, pods) for domain_try in group_placement.tries),
        "failed": group_placement.status.code is Code.ERROR
        or any(OUTSIDE in placement.message for placement in group_placement.placements),
    }


def _domain_result(domain_try: DomainTry, pods: Sequence[Pod]) -> DomainResult:
    blocking = next((placement for placement in domain_try.placements if not placement.node), None)
    message = blocking.message if blocking is not None else domain_try.status.message
    placed = len(domain_try.list_assignments(pods))
    return DomainResult(
        domain_try.domain.name, len(domain_try.domain.nodes), placed, blocking.pod if blocking else "", message
    )
