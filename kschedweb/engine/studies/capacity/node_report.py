"""Report why a node is as full as it is: its resources by pod, why each pod is there, and whom it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.controllers.budgets import EvictionBudgets
from kschedweb.engine.controllers.nodelifecycle import cordon_node
from kschedweb.engine.cycle.judgement import compute_leads, find_rejection
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import CycleError, Status, error
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.capacity.drain import (
    BUDGET,
    KUBECTL_MESSAGES,
    LOCAL,
    MIRRORED,
    NO_ROOM,
    RETURNS,
    Options,
    classify_pod,
)
from kschedweb.engine.values import dataclass

PODS = "pods"
# The obstacle of a pod whose scheduler the configuration does not describe.
FOREIGN = "other scheduler"
DRAIN = Options()
# Every answer begins at the first node, so that it does not depend on those before it.
FROM_FIRST_NODE = SearchRequest(start=0)
# Called before each pod; may raise to end the work.
Pulse = Callable[[], None]


class PlaceVerdict(StrEnum):
    """The reason why a pod is on its node, as the policy sees it now."""

    # The node scores higher than every other.
    BEST = "best"
    # Other nodes score the same.
    TIED = "tied"
    # No other node passes.
    ONLY = "only"
    # Another node scores higher now.
    BEATEN = "beaten"
    # The node would refuse the pod now.
    REFUSED = "refused"
    # The kubelet runs it, without a scheduler.
    STATIC = "static"
    # Another scheduler, of which nothing is known, placed it.
    FOREIGN = "foreign"
    # The scheduling cycle of such a pod fails.
    FAILED = "failed"


@dataclass(frozen=True)
class PodShare:
    """A pod's part of a resource of its node, in milli-CPU and whole units."""

    pod: str
    amount: int


@dataclass(frozen=True)
class ResourceLevel:
    """One resource of the node, in milli-CPU and whole units."""

    resource: str
    allocatable: int
    requested: int
    # Percent of ``allocatable`` that is really used; None if unknown.
    used_percent: float | None
    # The largest first; pods that request nothing are left out.
    pods: tuple[PodShare, ...]

    @property
    def free(self) -> int:
        """The amount that nobody requests; negative if pods request more than there is."""
        return self.allocatable - self.requested

    @property
    def requested_percent(self) -> float:
        """Percent of ``allocatable`` that is requested, 0 for a resource that the node has none of."""
        return 100 * self.requested / self.allocatable if self.allocatable else 0.0


@dataclass(frozen=True)
class PodPlace:
    """Verdict on a pod's place: the reason why it is on its node, and whether it could leave."""

    pod: str
    verdict: PlaceVerdict
    # The number of nodes that pass.
    feasible: int = 0
    # The total of its node; None if it has none.
    score: int | None = None
    # The best other node that passes, "" for none, and its total.
    rival: str = ""
    rival_score: int | None = None
    # The plugin that prefers the better of both nodes most, or the filter that refuses the pod.
    plugin: str = ""
    # The scheduler's words on a refusal or failure.
    message: str = ""
    # The node of its replacement if it were evicted; "" if there is none.
    target: str = ""
    # The reason why it cannot leave, as `drain` names it; "" if it can.
    obstacle: str = ""
    # The words of kubectl, the eviction API or the scheduler.
    obstacle_message: str = ""

    @property
    def margin(self) -> int | None:
        """The points by which its node is ahead of the best other one; negative if it is behind."""
        return None if self.score is None or self.rival_score is None else self.score - self.rival_score

    @property
    def can_leave(self) -> bool:
        return not self.obstacle

    def to_dict(self) -> Json:
        return {**asdict(self), "verdict": str(self.verdict), "margin": self.margin, "can_leave": self.can_leave}

    @classmethod
    def from_dict(cls, plain: Json) -> PodPlace:
        values = {name: plain[name] for name in plain if name not in ("margin", "can_leave")}
        return cls(**{**values, "verdict": PlaceVerdict(plain["verdict"])})


@dataclass(frozen=True)
class ResidentPod:
    """A pod on the node."""

    pod: str
    priority: int
    # "Kind/name" of its controller; "" for none.
    controller: str
    scheduler_name: str
    # What it takes of the node, in milli-CPU and whole units.
    requests: Mapping[str, int]
    # None if it was not worked out.
    place: PodPlace | None = None


@dataclass(frozen=True)
class PendingGroup:
    """Pending pods to which the node says the same."""

    # The filter; "" for pods that fit.
    plugin: str
    # The filter's words; "" for pods that fit.
    message: str
    pods: tuple[str, ...]


@dataclass(frozen=True)
class NodeReport:
    """Report on a node: the reasons why it is as full as it is."""

    name: str
    cordoned: bool
    # CPU, memory and pods first; others that the node offers or its pods request.
    resources: tuple[ResourceLevel, ...]
    # Those that request most of the fullest resource first.
    pods: tuple[ResidentPod, ...]
    # Pending pods that the node refuses, the largest group first.
    refused: tuple[PendingGroup, ...]
    # Pending pods that would fit on the node now.
    fitting: tuple[str, ...]
    # The number of pending pods that no scheduler tries yet, such as gated ones, or that this policy does not handle.
    untried: int

    @property
    def fullest(self) -> ResourceLevel:
        """The resource of which the largest share is requested."""
        return max(self.resources, key=lambda level: level.requested_percent)

    def pod(self, key: str) -> ResidentPod:
        """Return the pod ``namespace/name``. Raise KeyError if it is not on the node."""
        for pod in self.pods:
            if pod.pod == key:
                return pod
        raise KeyError(key)

    def to_dict(self) -> Json:
        """Return the report as plain data, as REST and the command line give it."""
        return {
            "node": self.name,
            "cordoned": self.cordoned,
            "fullest": self.fullest.resource,
            "resources": [
                {**asdict(level), "free": level.free, "requested_percent": round(level.requested_percent, 1)}
                for level in self.resources
            ],
            "pods": [{**asdict(pod), "place": pod.place and pod.place.to_dict()} for pod in self.pods],
            "refused": [asdict(group) for group in self.refused],
            "fitting": list(self.fitting),
            "untried": self.untried,
        }

    @classmethod
    def from_dict(cls, plain: Json) -> NodeReport:
        """Reverse ``to_dict``, also after JSON."""
        levels = [
            ResourceLevel(
                level["resource"],
                level["allocatable"],
                level["requested"],
                level["used_percent"],
                tuple(PodShare(**share) for share in level["pods"]),
            )
            for level in plain["resources"]
        ]
        pods = [
            ResidentPod(**{**pod, "place": pod["place"] and PodPlace.from_dict(pod["place"])}) for pod in plain["pods"]
        ]
        groups = [PendingGroup(group["plugin"], group["message"], tuple(group["pods"])) for group in plain["refused"]]
        return cls(
            plain["node"],
            plain["cordoned"],
            tuple(levels),
            tuple(pods),
            tuple(groups),
            tuple(plain["fitting"]),
            plain["untried"],
        )


class _Reporter:
    """Explains pods of one node on two copies of the cluster: as it is, and with the node cordoned."""

    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        node: str,
        registry: Mapping[str, PluginFactory] | None,
        pulse: Pulse | None = None,
    ) -> None:
        self.pulse = pulse
        self.scheduler = Scheduler.from_configuration(snapshot.copy(), configuration, registry)
        self._budgets = EvictionBudgets(snapshot.objects)
        self._snapshot, self._configuration, self._registry, self._node = snapshot, configuration, registry, node

    @cached_property
    def cordoned(self) -> Scheduler:
        """The scheduler to which the node is cordoned, as to `kubectl drain`. Only pods that may leave need it."""
        cordoned_node = cordon_node(self._snapshot.nodes[self._snapshot.index[self._node]])
        return Scheduler.from_configuration(
            self._snapshot.copy().with_nodes([cordoned_node]), self._configuration, self._registry
        )

    def find_place(self, pod: Pod) -> PodPlace:
        if self.pulse is not None:
            self.pulse()
        kind, stays = classify_pod(pod, DRAIN)
        if kind == MIRRORED:
            return PodPlace(pod.key, PlaceVerdict.STATIC, obstacle=kind)
        if not self._handles(pod):
            message = f'profile not found for scheduler name "{pod.scheduler_name}"'
            return PodPlace(pod.key, PlaceVerdict.FOREIGN, obstacle=FOREIGN, obstacle_message=message)
        target, obstacle, refusal = self._find_exit(pod, kind, stays=stays)
        return replace(self._judge_place(pod), target=target, obstacle=obstacle, obstacle_message=refusal)

    def _find_exit(self, pod: Pod, kind: str, *, stays: bool) -> tuple[str, str, str]:
        """Return the node of the pod's replacement, what keeps the pod from leaving, and the words for that."""
        if stays or kind not in ("", LOCAL):
            return "", kind, KUBECTL_MESSAGES.get(kind, "")
        target, message = self._find_target(pod)
        if not target:
            return "", NO_ROOM, message
        if kind:
            return target, kind, KUBECTL_MESSAGES[kind]
        refusal = self._budgets.explain_refusal(pod)
        return target, BUDGET if refusal else "", refusal

    def _handles(self, pod: Pod) -> bool:
        try:
            self.scheduler.framework(pod)
        except CycleError:
            return False
        return True

    def _judge_place(self, pod: Pod) -> PodPlace:
        with self.scheduler.snapshot.pod_removed(pod.key) as removed:
            try:
                explanation = self.scheduler.explain(removed.on(""), as_scheduled=True)
            except CycleError as failure:
                return PodPlace(pod.key, PlaceVerdict.FAILED, message=str(failure))
        return _compare_with_others(explanation, pod)

    def _find_target(self, pod: Pod) -> tuple[str, str]:
        """Return the node of the pod's replacement elsewhere, or "" and the scheduler's message."""
        scheduler = self.cordoned
        with scheduler.without_pod(pod.key) as evicted:
            replacement, _ = scheduler.create_claims(evicted)
            placement = scheduler.find(replacement, FROM_FIRST_NODE)
        if placement.node == pod.node_name:
            return "", RETURNS.format(node=placement.node)
        return placement.node, placement.message


def report_node(
    snapshot: Snapshot,
    configuration: Configuration,
    name: str,
    *,
    places: bool = True,
    registry: Mapping[str, PluginFactory] | None = None,
    pulse: Pulse | None = None,
) -> NodeReport:
    """Report on the node ``name``. Raise KeyError if there is none.

    With ``places`` every pod of the node is explained, which takes a scheduling cycle over all nodes for each.
    """
    position = snapshot.index[name]
    reporter = _Reporter(snapshot, configuration, name, registry, pulse)
    levels = _list_levels(snapshot, position)
    fullest = max(levels, key=lambda level: level.requested_percent).resource
    pods = [_describe_pod(pod) for pod in snapshot.pods.pods_on(position)]
    pods.sort(key=lambda pod: (-pod.requests.get(fullest, 0), -pod.requests.get(CPU, 0), pod.pod))
    if places:
        pods = [replace(pod, place=reporter.find_place(snapshot.get_pod(pod.pod))) for pod in pods]
    refused, fitting, untried = _ask_pending(reporter, name)
    cordoned = bool(snapshot.unschedulable[position])
    return NodeReport(name, cordoned, tuple(levels), tuple(pods), refused, fitting, untried)


def explain_place(
    snapshot: Snapshot,
    configuration: Configuration,
    pod: str,
    *,
    registry: Mapping[str, PluginFactory] | None = None,
) -> PodPlace:
    """Return why the bound pod ``namespace/name`` is on its node. Raise KeyError if there is no such pod."""
    bound = snapshot.get_pod(pod)
    if bound.key not in snapshot.pods.slots:
        raise KeyError(pod)
    return _Reporter(snapshot, configuration, bound.node_name, registry).find_place(bound)


def _list_levels(snapshot: Snapshot, position: int) -> list[ResourceLevel]:
    pods = snapshot.pods.pods_on(position)
    rows = {name: int(snapshot.resource_row(snapshot.allocatable, name)[position]) for name in snapshot.resources}
    requested = {name: int(snapshot.resource_row(snapshot.requested, name)[position]) for name in snapshot.resources}
    names = [CPU, MEMORY, *sorted({name for name in rows if rows[name] or requested[name]} - {CPU, MEMORY})]
    levels = [
        ResourceLevel(
            name,
            rows.get(name, 0),
            requested.get(name, 0),
            _percent_used(snapshot, name, position),
            _list_shares({pod.key: pod.occupied.get(name, 0) for pod in pods}),
        )
        for name in names
    ]
    limit, count = int(snapshot.pod_limit[position]), int(snapshot.pod_count[position])
    counted = ResourceLevel(PODS, limit, count, None, _list_shares({pod.key: 1 for pod in pods}))
    return [*levels[:2], counted, *levels[2:]]


def _list_shares(amounts: Mapping[str, int]) -> tuple[PodShare, ...]:
    shares = [PodShare(pod, amount) for pod, amount in amounts.items() if amount]
    return tuple(sorted(shares, key=lambda share: (-share.amount, share.pod)))


def _percent_used(snapshot: Snapshot, resource: str, position: int) -> float | None:
    column = None if snapshot.watermarks is None else snapshot.watermarks.use_now(resource)
    percent = math.nan if column is None else float(column[position])
    return None if math.isnan(percent) else percent


def _describe_pod(pod: Pod) -> ResidentPod:
    controller = "" if pod.controller is None else f"{pod.controller[1]}/{pod.controller[2]}"
    return ResidentPod(pod.key, pod.priority, controller, pod.scheduler_name, dict(pod.occupied))


def _compare_with_others(explanation: Explanation, pod: Pod) -> PodPlace:
    """Compare the pod's node with the best other one in ``explanation``, in which the pod is not bound."""
    position, feasible = explanation.nodes.index(pod.node_name), explanation.feasible
    other_places = np.flatnonzero(feasible != position)
    has_rival = bool(other_places.size and explanation.total.size)
    rival_place = int(other_places[explanation.total[other_places].argmax()]) if has_rival else None
    rival = "" if rival_place is None else explanation.nodes[int(feasible[rival_place])]
    rival_score = None if rival_place is None else int(explanation.total[rival_place])
    if not (feasible == position).any():
        status = find_rejection(explanation, pod.node_name)
        return PodPlace(
            pod.key,
            PlaceVerdict.REFUSED,
            len(feasible),
            rival=rival,
            rival_score=rival_score,
            plugin=status.plugin,
            message=status.message,
        )
    place = int(np.flatnonzero(feasible == position)[0])
    score = int(explanation.total[place])
    if rival_place is None or rival_score is None:
        return PodPlace(pod.key, PlaceVerdict.ONLY, 1, score)
    verdict = (
        PlaceVerdict.TIED if score == rival_score else PlaceVerdict.BEST if score > rival_score else PlaceVerdict.BEATEN
    )
    first, second = (place, rival_place) if score >= rival_score else (rival_place, place)
    leads = compute_leads(explanation, first, second)
    plugin = "" if score == rival_score else max(leads, key=lambda name: leads[name], default="")
    return PodPlace(pod.key, verdict, len(feasible), score, rival, rival_score, plugin)


def _ask_pending(reporter: _Reporter, name: str) -> tuple[tuple[PendingGroup, ...], tuple[str, ...], int]:
    """Return the groups of pending pods that the node refuses, those that fit, and the number that nobody tries."""
    scheduler = reporter.scheduler
    status_by_kind: dict[Hashable, Status | None] = {}
    groups: dict[tuple[str, str], list[str]] = {}
    fitting: list[str] = []
    untried = 0
    for pod in scheduler.snapshot.pending:
        # A nominated pod may use room that only itself may use.
        kind: Hashable = pod.key if pod.nominated_node else pod.signature
        if kind not in status_by_kind:
            if reporter.pulse is not None:
                reporter.pulse()
            status_by_kind[kind] = _ask_node(scheduler, pod, name)
        status = status_by_kind[kind]
        if status is None:
            untried += 1
        elif status.ok:
            fitting.append(pod.key)
        else:
            groups.setdefault((status.plugin, status.message), []).append(pod.key)
    listed = [PendingGroup(plugin, message, tuple(pods)) for (plugin, message), pods in groups.items()]
    return tuple(sorted(listed, key=lambda group: (-len(group.pods), group.message))), tuple(fitting), untried


def _ask_node(scheduler: Scheduler, pod: Pod, node: str) -> Status | None:
    """Return the node's verdict on a pending pod; None if no scheduler tries the pod."""
    try:
        if not scheduler.framework(pod).pre_enqueue(pod, scheduler.snapshot.objects).ok:
            return None
    except CycleError:
        return None
    try:
        return scheduler.verdict(pod, node)
    except CycleError as failure:
        return error(str(failure))
