"""The taints that the node lifecycle controller sets for a node's conditions.

A node in trouble takes no new pods at once (NoSchedule). Its pods must leave (NoExecute) later: one node after the
other gets that taint, at a rate that depends on how much of its zone is in trouble.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum

from kschedweb.engine.framework.events import read_conditions
from kschedweb.engine.objects.json_access import get_mapping, get_objects
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
# All taints that the controller sets, and takes away again.
CONTROLLED = frozenset({CORDONED, *CONDITION_TAINTS.values()})
# Conditions that the kubelet reports; NetworkUnavailable comes from elsewhere.
KUBELET_CONDITIONS = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
# Label of nodes that do not count in the state of their zone.
EXCLUDED = "node.kubernetes.io/exclude-disruption"


def with_condition(node: Node, **statuses: str) -> Node:
    """Return the node with these statuses of conditions (``Ready="False"``), and otherwise as it was."""
    status = get_mapping(node.raw, "status")
    other_conditions = [
        item for item in get_objects(status, "conditions", "status.") if item.get("type") not in statuses
    ]
    fresh = [{"type": kind, "status": value} for kind, value in statuses.items()]
    return Node.from_json({**node.raw, "status": {**status, "conditions": [*other_conditions, *fresh]}})


def with_reported_statuses(node: Node, statuses: Mapping[str, str]) -> Node:
    """Return the node after somebody reported these ``statuses`` by condition.

    A kubelet reports all its conditions: those that were Unknown get their usual status. If it is silent, all of them
    are Unknown.
    """
    new_statuses = dict(statuses)
    if statuses.get(READY) == UNKNOWN:
        new_statuses = dict.fromkeys(KUBELET_CONDITIONS, UNKNOWN) | new_statuses
    elif any(kind in statuses for kind in KUBELET_CONDITIONS):
        usual = {kind: TRUE if kind == READY else FALSE for kind in KUBELET_CONDITIONS}
        new_statuses = {
            kind: usual[kind] for kind, status in read_conditions(node).items() if status == UNKNOWN and kind in usual
        }
        new_statuses |= statuses
    return with_condition(node, **new_statuses)


def with_taints(node: Node, taints: Iterable[Taint]) -> Node:
    """Return the node with these taints in place of all it had."""
    listed = [
        {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
        for taint in taints
    ]
    return Node.from_json({**node.raw, "spec": {**get_mapping(node.raw, "spec"), "taints": listed}})


def with_condition_taints(node: Node) -> Node:
    """Return the node with exactly the NoSchedule taints that its conditions and its cordon ask for."""
    taint_keys = [CONDITION_TAINTS[item] for item in read_conditions(node).items() if item in CONDITION_TAINTS]
    taint_keys += [CORDONED] if node.unschedulable else []
    present = {taint.key for taint in node.taints if _is_condition_taint(taint)}
    if present == set(taint_keys):
        return node
    other_taints = [taint for taint in node.taints if not _is_condition_taint(taint) or taint.key in taint_keys]
    return with_taints(
        node, [*other_taints, *(Taint(key, "", NO_SCHEDULE) for key in taint_keys if key not in present)]
    )


def cordon_node(node: Node) -> Node:
    """Return the node cordoned, with the taint of that."""
    spec = {**get_mapping(node.raw, "spec"), "unschedulable": True}
    marked: Node = with_condition_taints(replace(node, unschedulable=True, raw={**node.raw, "spec": spec}))
    return marked


def _is_condition_taint(taint: Taint) -> bool:
    return taint.effect == NO_SCHEDULE and taint.key in CONTROLLED


class _State(Enum):
    NORMAL = "normal"
    PARTIAL = "most nodes are in trouble"
    FULL = "all nodes are in trouble"


@dataclass(slots=True)
class _Zone:
    """The state of a zone."""

    # Nodes a second that may get their NoExecute taint.
    rate: float
    # Names of the nodes that wait for it.
    waiting: list[str] = field(default_factory=list)
    state: _State = _State.NORMAL
    # When the next node may get it, in seconds.
    free_at: float = float("-inf")
    # Names of all nodes that count, and of those in trouble.
    members: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)

    def set_rate(self, rate: float, now: float) -> None:
        if rate != self.rate:
            # As in `SwapLimiter`, the new limiter starts drained if the old one was.
            exhausted = self.free_at > now or self.rate <= 0
            self.free_at = now + 1 / rate if rate > 0 and exhausted else now
            self.rate = rate


@dataclass(frozen=True, slots=True)
class LifecycleTiming:
    """The controller's settings, with the defaults of kube-controller-manager."""

    # Seconds between looks.
    monitor_period: float = 5.0
    # Seconds without a heartbeat after which a node's conditions are Unknown.
    grace_period: float = 50.0
    # Nodes a second, normally and in a large zone that is mostly in trouble.
    eviction_rate: float = 0.1
    secondary_rate: float = 0.01
    # Share of a zone's nodes in trouble that makes it mostly in trouble.
    unhealthy_share: float = 0.55
    # A zone with at most so many nodes is small: when it is mostly in trouble, it loses no pods.
    large_cluster: int = 50


class NodeLifecycle:
    """Watches the Ready condition of nodes on a clock that is passed in (seconds).

    Call ``monitor_node_health`` at each ``next_time``. A node without the condition counts as well. ``watch_node`` and
    ``forget_node`` must be called for every node.
    """

    def __init__(self, timing: LifecycleTiming | None = None) -> None:
        self.timing = timing or LifecycleTiming()
        # node -> when its kubelet was last heard of
        self._silent: dict[str, float] = {}
        self._zones: dict[str, _Zone] = {}
        self._zone_of: dict[str, str] = {}
        # A set that keeps its order.
        self._troubled: dict[str, None] = {}
        self._all_bad = False

    def watch_node(self, node: Node) -> None:
        """Take in that the node was added or changed."""
        if self._zone_of.get(node.name, node.zone) != node.zone:
            self.forget_node(node.name)
        self._zone_of[node.name] = node.zone
        zone = self._get_zone(node.zone)
        bad = _ready_status(node) in (FALSE, UNKNOWN)
        zone.bad.discard(node.name)
        if EXCLUDED not in node.labels:
            zone.members.add(node.name)
            zone.bad |= {node.name} if bad else set()
        if bad or _has_no_execute(node, NOT_READY) or _has_no_execute(node, UNREACHABLE):
            self._troubled[node.name] = None
        else:
            self._troubled.pop(node.name, None)

    def forget_node(self, name: str) -> None:
        """Take in that the node is gone."""
        self._silent.pop(name, None)
        self._troubled.pop(name, None)
        zone = self._get_zone(self._zone_of.pop(name, ""))
        zone.members.discard(name)
        zone.bad.discard(name)
        zone.waiting = [other for other in zone.waiting if other != name]

    def silence_node(self, name: str, now: float) -> None:
        """Note that the node's kubelet was heard of for the last time."""
        self._silent.setdefault(name, now)

    def on_heartbeat(self, name: str) -> None:
        """Note that the node's kubelet reports again."""
        self._silent.pop(name, None)

    @property
    def silent_nodes(self) -> Iterable[str]:
        """The nodes whose kubelet is silent."""
        return self._silent.keys()

    def is_silent(self, name: str) -> bool:
        return name in self._silent

    @property
    def at_rest(self) -> bool:
        """True if every node is well and carries no taint of trouble."""
        return not self._silent and not self._troubled

    def next_time(self, now: float) -> float | None:
        """Return when to look next; ``None`` while every node is well and carries no taint of trouble."""
        if self.at_rest:
            return None
        period = self.timing.monitor_period
        return (now // period + 1) * period

    def is_due(self, now: float) -> bool:
        """Return true if ``now`` is a time to look."""
        return not self.at_rest and now % self.timing.monitor_period == 0

    def monitor_node_health(self, nodes: Mapping[str, Node], now: float) -> list[Node]:
        """Look at the nodes once; returns those that change, with their changes."""
        # Changes go to a layer of their own: ``nodes`` stays as it is, and the first map has what changed.
        world: ChainMap[str, Node] = ChainMap({}, nodes)  # type: ignore[arg-type]
        for name, heard in self._silent.items():
            if now > heard + self.timing.grace_period and _ready_status(world[name]) != UNKNOWN:
                self._change_node(world, with_condition(world[name], **dict.fromkeys(KUBELET_CONDITIONS, UNKNOWN)))
        for name in list(self._troubled):
            self._change_node(world, self._process_taint_eviction(world[name]))
        if self._set_rates(now):
            for name in list(self._troubled):
                self._change_node(world, _without_no_execute(world[name]))
        for zone in self._zones.values():
            for name in _take_next_nodes(zone, now):
                key = NOT_READY if _ready_status(world[name]) == FALSE else UNREACHABLE
                self._change_node(world, _with_no_execute(world[name], key))
        return [with_condition_taints(node) for node in world.maps[0].values()]

    def _change_node(self, world: ChainMap[str, Node], node: Node) -> None:
        if world[node.name] is not node:
            world[node.name] = node
            self.watch_node(node)

    def _get_zone(self, name: str) -> _Zone:
        return self._zones.setdefault(name, _Zone(self.timing.eviction_rate))

    def _process_taint_eviction(self, node: Node) -> Node:
        zone, condition = self._get_zone(node.zone), _ready_status(node)
        if condition not in (FALSE, UNKNOWN):
            zone.waiting = [other for other in zone.waiting if other != node.name]
            return _without_no_execute(node)
        taint_key, opposite = (NOT_READY, UNREACHABLE) if condition == FALSE else (UNREACHABLE, NOT_READY)
        # A taint of the other kind of trouble is exchanged at once, without waiting for the rate.
        if _has_no_execute(node, opposite):
            return _with_no_execute(node, taint_key)
        if not _has_no_execute(node, taint_key) and node.name not in zone.waiting:
            zone.waiting.append(node.name)
        return node

    def _set_rates(self, now: float) -> bool:
        """Set the rates of the zones; returns true if all nodes have just got into trouble: none must be left then."""
        zones = [zone for zone in self._zones.values() if zone.members]
        for zone in zones:
            zone.state = self._compute_zone_state(zone)
        all_were, self._all_bad = self._all_bad, bool(zones) and all(zone.state is _State.FULL for zone in zones)
        for zone in zones:
            rate = self.timing.eviction_rate
            if zone.state is _State.PARTIAL:
                rate = self.timing.secondary_rate if len(zone.members) > self.timing.large_cluster else 0.0
            zone.set_rate(0.0 if self._all_bad else rate, now)
        if all_were and not self._all_bad:
            # It may have been the control plane that was deaf: silent nodes get a new grace period.
            self._silent = dict.fromkeys(self._silent, now)
        return self._all_bad and not all_were

    def _compute_zone_state(self, zone: _Zone) -> _State:
        bad, size = len(zone.bad), len(zone.members)
        if bad == size:
            return _State.FULL
        # As `ComputeZoneState` has it: with two nodes in trouble a zone is still normal.
        return _State.PARTIAL if bad > 2 and bad / size >= self.timing.unhealthy_share else _State.NORMAL


def _take_next_nodes(zone: _Zone, now: float) -> list[str]:
    names = []
    while zone.waiting and zone.rate > 0 and zone.free_at <= now:
        zone.free_at = now + 1 / zone.rate
        names.append(zone.waiting.pop(0))
    return names


def _ready_status(node: Node) -> str:
    return read_conditions(node).get(READY, "")


def _has_no_execute(node: Node, key: str) -> bool:
    return any(taint.key == key and taint.effect == NO_EXECUTE for taint in node.taints)


def _without_no_execute(node: Node) -> Node:
    """Return the node without its NoExecute taints of trouble; the same object if it has none."""
    trouble = {Taint(key, taint.value, NO_EXECUTE) for taint in node.taints for key in (NOT_READY, UNREACHABLE)}
    remaining = [taint for taint in node.taints if taint not in trouble]
    return node if len(remaining) == len(node.taints) else with_taints(node, remaining)


def _with_no_execute(node: Node, key: str) -> Node:
    return with_taints(node, [*_without_no_execute(node).taints, Taint(key, "", NO_EXECUTE)])
