"""Rehearse a drain: in which order nodes can be drained, what blocks them, and where their pods go.

It follows `kubectl drain` and the eviction API: all nodes are cordoned, then each is drained in waves. If kubectl
refuses to delete some pod of a node, no pod of it is evicted. A wave evicts as many pods as their disruption budgets
allow; their replacements start, and the next wave follows. A pod is evicted only if the scheduler finds another node
for its replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.controllers.budgets import EvictionBudget, EvictionBudgets, restore_disruption
from kschedweb.engine.controllers.nodelifecycle import cordon_node
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.owners import has_daemon_set_owner
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

MIRROR = "kubernetes.io/config.mirror"
# Reasons why a pod stays without blocking the drain.
DAEMON_SET, MIRRORED, TERMINATING = "DaemonSet", "mirror pod", "terminating"
# Obstacles that block a drain.
BUDGET, UNMANAGED, LOCAL, NO_ROOM = "disruption budget", "no controller", "local storage", "no room elsewhere"
DAEMONS = "DaemonSet-managed pod"
# Messages of `kubectl drain`.
KUBECTL_MESSAGES = {
    UNMANAGED: "cannot delete Pods that declare no controller (use --force to override)",
    LOCAL: "cannot delete Pods with local storage (use --delete-emptydir-data to override)",
    DAEMONS: "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)",
}
# The message about a pod whose replacement would come back.
RETURNS = "tolerates that {node} is cordoned, and would be put there again"
# Called before each pod; may raise to end the work.
Pulse = Callable[[], None]


@dataclass(frozen=True)
class Options:
    """The flags of `kubectl drain`, under its names."""

    ignore_daemonsets: bool = True
    delete_emptydir_data: bool = False
    force: bool = False


@dataclass(frozen=True)
class Replacement:
    """An evicted pod and its replacement."""

    pod: str
    # Its node.
    source: str
    # Node of its replacement; "" without one.
    target: str
    # The wave of its node, from 1.
    wave: int
    # The disruption budget that the eviction took from; "" for none.
    budget: str = ""


@dataclass(frozen=True)
class Block:
    """A pod that blocks the drain of its node."""

    pod: str
    node: str
    # The kind of obstacle.
    kind: str
    # The error of kubectl, the eviction API or the scheduler.
    message: str


@dataclass(frozen=True)
class StayingPod:
    """A pod that a drain leaves on its node, which still counts as drained."""

    pod: str
    node: str
    kind: str


@dataclass(frozen=True)
class NodeDrain:
    """The drain of one node."""

    name: str
    moves: tuple[Replacement, ...]
    blocks: tuple[Block, ...]
    stays: tuple[StayingPod, ...]
    # 1 plus the number of times that evictions waited for replacements; 0 if nothing was evicted.
    waves: int

    @property
    def emptied(self) -> bool:
        return not self.blocks


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsal; ``nodes`` are in the order in which they are drained."""

    nodes: tuple[NodeDrain, ...]
    # True if that order differs from the requested one.
    reordered: bool = False

    @property
    def emptied(self) -> bool:
        return all(node.emptied for node in self.nodes)

    @property
    def moves(self) -> list[Replacement]:
        return [move for node in self.nodes for move in node.moves]

    @property
    def blocks(self) -> list[Block]:
        return [block for node in self.nodes for block in node.blocks]


def rehearse_drain(
    snapshot: Snapshot,
    configuration: Configuration,
    names: Sequence[str],
    options: Options = Options(),  # noqa: B008  they never change
    *,
    keep_order: bool = False,
    registry: Mapping[str, PluginFactory] | None = None,
    pulse: Pulse | None = None,
) -> Rehearsal:
    """Drain the nodes ``names`` in a copy of ``snapshot``. Raise KeyError for an unknown node.

    Unless ``keep_order``, nodes that can be drained come first, those with the fewest pods to move before others. A
    node that cannot be drained keeps the pods that block it, and stays cordoned.
    """
    node_names = list(dict.fromkeys(names))
    for name in node_names:
        # Raises KeyError.
        snapshot.index[name]
    closed = [cordon_node(snapshot.nodes[snapshot.index[name]]) for name in node_names]

    def drain_all(order: list[str], *, whole: bool = False) -> tuple[NodeDrain, ...]:
        scheduler = Scheduler.from_configuration(snapshot.copy().with_nodes(closed), configuration, registry)
        drain = _Drain(scheduler, EvictionBudgets(snapshot.objects), frozenset(node_names), options, pulse)
        return tuple(drain.drain_node(name, whole=whole) for name in order)

    if keep_order:
        return Rehearsal(drain_all(node_names))
    # Evictions from a blocked node must not take room or budget from nodes that can be drained.
    easiest = _easiest_first(snapshot, node_names, options)
    nodes = drain_all(easiest, whole=True)
    blocked = {node.name for node in nodes if not node.emptied}
    order = sorted(easiest, key=blocked.__contains__)
    return Rehearsal(drain_all(order) if blocked else nodes, order != node_names)


def classify_pod(pod: Pod, options: Options) -> tuple[str, bool]:
    """Return the reason why a drain does not evict ``pod``, and whether it stays without blocking.

    ("", False) means that the pod is evicted. Only the pod and its owners are considered, not budgets and room.
    """
    if MIRROR in get_mapping(get_mapping(pod.raw, "metadata"), "annotations", "metadata."):
        return MIRRORED, True
    if has_daemon_set_owner(pod):
        return (DAEMON_SET, True) if options.ignore_daemonsets else (DAEMONS, False)
    if pod.terminating:
        return TERMINATING, True
    if pod.controller is None and not options.force:
        return UNMANAGED, False
    volumes = get_objects(get_mapping(pod.raw, "spec"), "volumes", "spec.")
    if any(volume.get("emptyDir") is not None for volume in volumes) and not options.delete_emptydir_data:
        return LOCAL, False
    return "", False


def _easiest_first(snapshot: Snapshot, names: list[str], options: Options) -> list[str]:
    budgets = EvictionBudgets(snapshot.objects)

    def estimate_effort(name: str) -> tuple[int, int, int]:
        blocked = protected = moving = 0
        for pod in snapshot.pods.pods_on(snapshot.index[name]):
            kind, alone = classify_pod(pod, options)
            if not alone:
                blocked += bool(kind)
                protected += bool(budgets.explain_refusal(pod))
                moving += 1
        return blocked, protected, moving

    return sorted(names, key=estimate_effort)


@dataclass
class _Drain:
    """The state of a rehearsal: the scheduler's snapshot, and the budgets."""

    scheduler: Scheduler
    budgets: EvictionBudgets
    # Nodes that are to be drained, where no replacement may go.
    leaving: frozenset[str]
    options: Options
    pulse: Pulse | None
    _moves: list[Replacement] = field(default_factory=list)
    # Evicted pods of the current node, with functions that restore their claims.
    _evicted: list[tuple[Pod, Callable[[], None]]] = field(default_factory=list)

    def drain_node(self, name: str, *, whole: bool = False) -> NodeDrain:
        """Drain the node ``name``; with ``whole``, nothing changes if it cannot be drained."""
        before = self.budgets.save_state()
        drained = self._drain_node(name)
        if whole and not drained.emptied:
            self.budgets.restore_state(before)
            self._put_back(name)
        return drained

    def _put_back(self, name: str) -> None:
        snapshot = self.scheduler.snapshot
        for pod, restore_claims in reversed(self._evicted):
            if pod.key in snapshot.pods.slots:
                snapshot.remove_pod(pod.key)
            restore_claims()
            snapshot.add_pod(pod, snapshot.index[name])

    def _drain_node(self, name: str) -> NodeDrain:
        snapshot = self.scheduler.snapshot
        stays: list[StayingPod] = []
        blocks: list[Block] = []
        todo: list[Pod] = []
        for pod in snapshot.pods.pods_on(snapshot.index[name]):
            kind, alone = classify_pod(pod, self.options)
            if alone:
                stays.append(StayingPod(pod.key, name, kind))
            elif kind:
                blocks.append(Block(pod.key, name, kind, KUBECTL_MESSAGES[kind]))
            else:
                todo.append(pod)
        self._moves, self._evicted = [], []
        wave = 0
        if blocks:  # kubectl evicts no pod then.
            blocks += [block for pod in todo if (block := self._find_block(pod, name)) is not None]
            todo = []
        while todo:
            remaining = self._evict_wave(todo, name, wave + 1)
            if len(remaining) == len(todo):
                blocks += [block for pod in remaining if (block := self._find_block(pod, name)) is not None]
                break
            todo, wave = remaining, wave + 1
        return NodeDrain(name, tuple(self._moves), tuple(blocks), tuple(stays), wave)

    def _evict_wave(self, pods: list[Pod], name: str, wave: int) -> list[Pod]:
        """Evict those of ``pods`` that can go now, and return the others. Afterwards, replacements are ready."""
        remaining: list[Pod] = []
        waiting: list[EvictionBudget] = []
        for pod in pods:
            if self.pulse is not None:
                self.pulse()
            if self.budgets.explain_refusal(pod):
                remaining.append(pod)
                continue
            target = self._move_pod(pod, name)
            if target is None:
                remaining.append(pod)
                continue
            budget = self.budgets.evict_pod(pod)
            if budget is not None and target:
                waiting.append(budget)
            self._moves.append(Replacement(pod.key, name, target, wave, "" if budget is None else budget.key))
        # Ready replacements count as healthy, so the next wave may evict again.
        for budget in waiting:
            restore_disruption(budget)
        return remaining

    def _move_pod(self, pod: Pod, name: str) -> str | None:
        """Return the node of the replacement of ``pod``, "" without one; ``None`` if none fits, and nothing changes."""
        scheduler, target = self.scheduler, ""
        restore_claims = scheduler.snapshot.save_claims(pod)
        evicted = scheduler.evict_pod(pod.key)
        if pod.controller is not None:
            replacement, _ = scheduler.create_claims(evicted)
            target = scheduler.find(replacement).node
            if not target or target in self.leaving or scheduler.bind_pod(replacement, target) is not None:
                restore_claims()
                scheduler.snapshot.add_pod(pod, scheduler.snapshot.index[name])
                return None
        self._evicted.append((pod, restore_claims))
        return target

    def _find_block(self, pod: Pod, name: str) -> Block | None:
        """Return what blocks the eviction of this pod now."""
        if message := self.budgets.explain_refusal(pod):
            return Block(pod.key, name, BUDGET, message)
        if pod.controller is None:
            return None
        with self.scheduler.without_pod(pod.key) as evicted:
            placement = self.scheduler.place_new(evicted)
            if placement.node:
                self.scheduler.snapshot.remove_pod(pod.key)
        message = placement.message
        if placement.node and placement.node not in self.leaving:
            return None
        if placement.node:
            message = RETURNS.format(node=placement.node)
        return Block(pod.key, name, NO_ROOM, message)
