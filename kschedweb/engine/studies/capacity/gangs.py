"""How many more gangs fit: gang after gang is placed until one does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.group_placement import DomainTry, GroupPlacement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.framework.status import OUTSIDE, Code, CycleError
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import API, POD_GROUP, VERSION, PodGroup, list_required_gates
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.capacity import problem_note
from kschedweb.engine.studies.capacity.shapes import PodShape
from kschedweb.engine.values import dataclass

MOST_GANGS = 10_000
MOST_PODS = 100_000  # of all gangs together
UNPLACED = -1
Check = Callable[[int, int], bool]  # gets the numbers of placed gangs and of tried pods; False stops


@dataclass(frozen=True)
class Gang:
    """``pods`` pods of a shape that start together.

    ``min_members`` is the minCount: how many of them must find a node, 0 for all. ``topology_key`` is the node label
    whose value all of them share, "" for none.
    """

    shape: PodShape
    pods: int
    min_members: int = 0
    topology_key: str = ""

    @property
    def min_count(self) -> int:
        return self.min_members or self.pods

    @property
    def gates(self) -> tuple[str, ...]:
        """The feature gates of kube-scheduler without which it does not schedule such a gang."""
        return list_required_gates(self.topology_key)


@dataclass(frozen=True)
class DomainResult:
    """Why the next gang does not fit a domain; ``name`` is "" for all nodes together.

    ``placed`` of its pods found one of the ``nodes``; ``pod`` is the first that did not, and ``message`` is what the
    scheduler says of it. Where no pod was tried, ``pod`` is "" and ``message`` is about the gang.
    """

    name: str
    nodes: int
    placed: int
    pod: str
    message: str


@dataclass(frozen=True)
class GangFit:
    """The placed gangs of ``pods`` pods; ``order`` int[count, pods] has the node of each pod, UNPLACED for one without.

    ``domains`` has the domain of each gang, "" without a topology key. ``message`` is the scheduler's message on the
    first gang that does not fit; "" if the limit came first or the time was over (``stopped``). ``results`` has what
    came of each of its domains. ``failed``: its cycle ended in an error, which says nothing about room; ``unlimited``:
    claims are left out that would limit the number.
    """

    names: list[str]
    pods: int
    order: NDArray[np.intp]
    domains: list[str]
    limit: int
    message: str = ""
    results: tuple[DomainResult, ...] = ()
    stopped: bool = False
    failed: bool = False
    notes: tuple[str, ...] = ()
    unlimited: bool = False

    @property
    def count(self) -> int:
        return len(self.order)

    @property
    def exact(self) -> bool:
        """Whether exactly so many fit; else ``count`` is a lower bound, an upper one where it is ``unlimited``."""
        return bool(self.message) and not (self.failed or self.unlimited)

    @property
    def by_node(self) -> Ints:
        """The number of pods on each node. Shape [nodes]."""
        return np.bincount(self.order[self.order >= 0], minlength=len(self.names)).astype(np.int64)

    def nodes_of(self, gang: int) -> dict[str, int]:
        """The pods of the gang at position ``gang`` on each node that has some, in the order of the nodes."""
        row = self.order[gang]
        nodes, counts = np.unique(row[row >= 0], return_counts=True)
        return {self.names[node]: count for node, count in zip(nodes.tolist(), counts.tolist(), strict=True)}


class _OutOfTimeError(Exception):
    """Ends a search in the midst of a gang."""


class _CheckedStopwatch(Stopwatch):
    """Asks ``check`` before each pod: one gang may be tried in many domains."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        self._check, self.gangs, self._tried = check, 0, 0

    def another(self) -> Stopwatch:
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
    registry: Mapping[str, Factory] | None = None,
    check: Check | None = None,
) -> GangFit:
    """Place gangs in a copy of ``snapshot`` as kube-scheduler does, at most ``limit`` and ``MOST_PODS`` pods.

    There is no preemption and no approval. ``check`` is called before each pod. Raises ValueError where the release of
    ``configuration`` does not schedule such gangs (``Gang.gates``), or fewer pods than ``least`` are asked for.
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
    end: dict[str, Any] = {}
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
    """The pods with the claims that controllers make for them, and what is wrong with those of the first pod."""
    pods_with_claims = [scheduler.create_claims(pod) for pod in clones]
    return [pod for pod, _ in pods_with_claims], pods_with_claims[0][1]


def _create_gang(scheduler: Scheduler, gang: Gang, placed: int) -> tuple[PodGroup, list[Pod]]:
    """The next gang and its pods; the group is added to the snapshot."""
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


def _describe_refusal(group_placement: GroupPlacement, pods: Sequence[Pod]) -> dict[str, Any]:
    """What is said of a gang that does not fit."""
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
