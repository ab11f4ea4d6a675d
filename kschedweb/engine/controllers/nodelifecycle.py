"""The taints that a node gets for its conditions, as the node lifecycle controller sets them.

A node in trouble takes no new pods at once (NoSchedule); that its pods must leave (NoExecute) is said of one node
after the other, at a rate that depends on how much of its zone is in trouble.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum

from kschedweb.engine.framework.events import conditions
from kschedweb.engine.objects.access import mapping, objects
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE, Taint
from kschedweb.engine.values import dataclass

READY, TRUE, FALSE, UNKNOWN = "Ready", "True", "False", "Unknown"
CORDONED = "node.kubernetes.io/unschedulable"
CONDITION_TAINTS = {
    (READY, FALSE): NOT_READY,
    (READY, UNKNOWN): UNREACHABLE,
    ("MemoryPressure", TRUE): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", TRUE): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", TRUE): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", TRUE): "node.kubernetes.io/pid-pressure",
}
CONTROLLED = frozenset({CORDONED, *CONDITION_TAINTS.values()})
KUBELET_CONDITIONS = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
EXCLUDED = "node.kubernetes.io/exclude-disruption"


def with_condition(node: Node, **statuses: str) -> Node:
    """The node with the status of these conditions (``Ready="False"``), and otherwise as it was."""
    status = mapping(node.raw, "status")
    kept = [item for item in objects(status, "conditions", "status.") if item.get("type") not in statuses]
    fresh = [{"type": kind, "status": value} for kind, value in statuses.items()]
    return Node.read({**node.raw, "status": {**status, "conditions": [*kept, *fresh]}})


def reported(node: Node, statuses: Mapping[str, str]) -> Node:
    """The node once somebody told of these ``statuses`` by condition.

    A kubelet tells of all its conditions: of those that were not known, what is usual. Where it is silent, none is
    known.
    """
    told = dict(statuses)
    if statuses.get(READY) == UNKNOWN:
        told = dict.fromkeys(KUBELET_CONDITIONS, UNKNOWN) | told
    elif any(kind in statuses for kind in KUBELET_CONDITIONS):
        usual = {kind: TRUE if kind == READY else FALSE for kind in KUBELET_CONDITIONS}
        told = {kind: usual[kind] for kind, status in conditions(node).items() if status == UNKNOWN and kind in usual}
        told |= statuses
    return with_condition(node, **told)


def with_taints(node: Node, taints: Iterable[Taint]) -> Node:
    """The node with these taints in place of all it had."""
    listed = [
        {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
        for taint in taints
    ]
    return Node.read({**node.raw, "spec": {**mapping(node.raw, "spec"), "taints": listed}})


def with_condition_taints(node: Node) -> Node:
    """The node with the NoSchedule taints that its conditions and its cordon ask for, and no others of that kind."""
    wanted = [CONDITION_TAINTS[item] for item in conditions(node).items() if item in CONDITION_TAINTS]
    wanted += [CORDONED] if node.unschedulable else []
    present = {taint.key for taint in node.taints if _of_a_condition(taint)}
    if present == set(wanted):
        return node
    kept = [taint for taint in node.taints if not _of_a_condition(taint) or taint.key in wanted]
    return with_taints(node, [*kept, *(Taint(key, "", NO_SCHEDULE) for key in wanted if key not in present)])


def cordoned(node: Node) -> Node:
    """The node once it is cordoned, with its taint."""
    spec = {**mapping(node.raw, "spec"), "unschedulable": True}
    marked: Node = with_condition_taints(replace(node, unschedulable=True, raw={**node.raw, "spec": spec}))
    return marked


def _of_a_condition(taint: Taint) -> bool:
    return taint.effect == NO_SCHEDULE and taint.key in CONTROLLED


class _State(Enum):
    NORMAL = "normal"
    PARTIAL = "most nodes are in trouble"
    FULL = "all nodes are in trouble"


@dataclass(slots=True)
class _Zone:
    """Nodes that wait for their NoExecute taint, and when (seconds) the next may get it: one each 1/rate seconds."""

    rate: float
    waiting: list[str] = field(default_factory=list)
    state: _State = _State.NORMAL
    free_at: float = float("-inf")
    members: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)

    def set_rate(self, rate: float, now: float) -> None:
        if rate != self.rate:
            exhausted = self.free_at > now or self.rate <= 0
            self.free_at = now + 1 / rate if rate > 0 and exhausted else now
            self.rate = rate


@dataclass(frozen=True, slots=True)
class LifecycleTiming:
    """The controller's defaults. Seconds, nodes a second, a share of nodes, and a number of nodes."""

    monitor_period: float = 5.0
    grace_period: float = 50.0
    eviction_rate: float = 0.1
    secondary_rate: float = 0.01
    unhealthy_share: float = 0.55
    large_cluster: int = 50


class NodeLifecycle:
    """Watches nodes' Ready condition on a clock that is passed in (seconds): call ``monitor`` at each ``next_time``.

    A node without the condition is taken to be well. ``watch`` and ``forget`` must tell of every node.
    """

    def __init__(self, timing: LifecycleTiming | None = None) -> None:
        self.timing = timing or LifecycleTiming()
        self._silent: dict[str, float] = {}  # node -> when it was last heard of
        self._zones: dict[str, _Zone] = {}
        self._zone_of: dict[str, str] = {}
        self._troubled: dict[str, None] = {}  # a set that keeps its order
        self._all_bad = False

    def watch(self, node: Node) -> None:
        """The node came or changed."""
        if self._zone_of.get(node.name, node.zone) != node.zone:
            self.forget(node.name)
        self._zone_of[node.name] = node.zone
        zone = self._zone(node.zone)
        bad = _ready(node) in (FALSE, UNKNOWN)
        zone.bad.discard(node.name)
        if EXCLUDED not in node.labels:
            zone.members.add(node.name)
            zone.bad |= {node.name} if bad else set()
        if bad or _has(node, NOT_READY) or _has(node, UNREACHABLE):
            self._troubled[node.name] = None
        else:
            self._troubled.pop(node.name, None)

    def forget(self, name: str) -> None:
        """The node is gone."""
        self._silent.pop(name, None)
        self._troubled.pop(name, None)
        zone = self._zone(self._zone_of.pop(name, ""))
        zone.members.discard(name)
        zone.bad.discard(name)
        zone.waiting = [other for other in zone.waiting if other != name]

    def silence(self, name: str, now: float) -> None:
        """The node's kubelet was heard of for the last time."""
        self._silent.setdefault(name, now)

    def heard(self, name: str) -> None:
        """The node's kubelet reports again."""
        self._silent.pop(name, None)

    @property
    def silent(self) -> Iterable[str]:
        """The nodes whose kubelet is silent."""
        return self._silent.keys()

    def is_silent(self, name: str) -> bool:
        return name in self._silent

    @property
    def at_rest(self) -> bool:
        """Whether every node is well and carries no taint of trouble."""
        return not self._silent and not self._troubled

    def next_time(self, now: float) -> float | None:
        """When to look next; ``None`` while every node is well and carries no taint of trouble."""
        if self.at_rest:
            return None
        period = self.timing.monitor_period
        return (now // period + 1) * period

    def due(self, now: float) -> bool:
        """Whether ``now`` is a time to look."""
        return not self.at_rest and now % self.timing.monitor_period == 0

    def monitor(self, nodes: Mapping[str, Node], now: float) -> list[Node]:
        """One look at the nodes; returns those that change, as they are then."""
        world: ChainMap[str, Node] = ChainMap({}, nodes)  # type: ignore[arg-type]
        for name, heard in self._silent.items():
            if now > heard + self.timing.grace_period and _ready(world[name]) != UNKNOWN:
                self._change(world, with_condition(world[name], **dict.fromkeys(KUBELET_CONDITIONS, UNKNOWN)))
        for name in list(self._troubled):
            self._change(world, self._look(world[name]))
        if self._set_rates(now):
            for name in list(self._troubled):
                self._change(world, _without_no_execute(world[name]))
        for zone in self._zones.values():
            for name in _next_in_line(zone, now):
                key = NOT_READY if _ready(world[name]) == FALSE else UNREACHABLE
                self._change(world, _with_no_execute(world[name], key))
        return [with_condition_taints(node) for node in world.maps[0].values()]

    def _change(self, world: ChainMap[str, Node], node: Node) -> None:
        if world[node.name] is not node:
            world[node.name] = node
            self.watch(node)

    def _zone(self, name: str) -> _Zone:
        return self._zones.setdefault(name, _Zone(self.timing.eviction_rate))

    def _look(self, node: Node) -> Node:
        zone, condition = self._zone(node.zone), _ready(node)
        if condition not in (FALSE, UNKNOWN):
            zone.waiting = [other for other in zone.waiting if other != node.name]
            return _without_no_execute(node)
        wanted, opposite = (NOT_READY, UNREACHABLE) if condition == FALSE else (UNREACHABLE, NOT_READY)
        if _has(node, opposite):
            return _with_no_execute(node, wanted)
        if not _has(node, wanted) and node.name not in zone.waiting:
            zone.waiting.append(node.name)
        return node

    def _set_rates(self, now: float) -> bool:
        """Set the rates for how things stand; whether all nodes got into trouble since: then nobody must leave any."""
        zones = [zone for zone in self._zones.values() if zone.members]
        for zone in zones:
            zone.state = self._state(zone)
        all_were, self._all_bad = self._all_bad, bool(zones) and all(zone.state is _State.FULL for zone in zones)
        for zone in zones:
            rate = self.timing.eviction_rate
            if zone.state is _State.PARTIAL:
                rate = self.timing.secondary_rate if len(zone.members) > self.timing.large_cluster else 0.0
            zone.set_rate(0.0 if self._all_bad else rate, now)
        if all_were and not self._all_bad:
            self._silent = dict.fromkeys(self._silent, now)  # It may have been the control plane that was deaf.
        return self._all_bad and not all_were

    def _state(self, zone: _Zone) -> _State:
        bad, size = len(zone.bad), len(zone.members)
        if bad == size:
            return _State.FULL
        return _State.PARTIAL if bad > 2 and bad / size >= self.timing.unhealthy_share else _State.NORMAL


def _next_in_line(zone: _Zone, now: float) -> list[str]:
    taken = []
    while zone.waiting and zone.rate > 0 and zone.free_at <= now:
        zone.free_at = now + 1 / zone.rate
        taken.append(zone.waiting.pop(0))
    return taken


def _ready(node: Node) -> str:
    return conditions(node).get(READY, "")


def _has(node: Node, key: str) -> bool:
    return any(taint.key == key and taint.effect == NO_EXECUTE for taint in node.taints)


def _without_no_execute(node: Node) -> Node:
    """The node without its NoExecute taints of trouble; the same object where it has none."""
    trouble = {Taint(key, taint.value, NO_EXECUTE) for taint in node.taints for key in (NOT_READY, UNREACHABLE)}
    kept = [taint for taint in node.taints if taint not in trouble]
    return node if len(kept) == len(node.taints) else with_taints(node, kept)


def _with_no_execute(node: Node, key: str) -> Node:
    return with_taints(node, [*_without_no_execute(node).taints, Taint(key, "", NO_EXECUTE)])
