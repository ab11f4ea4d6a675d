"""cluster-autoscaler in its usual configuration, at work in a simulation.

Written after its documentation (the FAQ of kubernetes/autoscaler), and not compared with its code. Every ten seconds it
looks for pods that wait, works out how many nodes of each group they need, and lets the expander pick one group. If
none is needed, nodes count as unneeded whose requests are below the threshold and whose pods fit elsewhere. After ten
minutes they go: empty ones up to ten at once, others one by one. Nothing goes within ten minutes after nodes were asked
for. ``cluster_look`` has the decisions of one look; this module has the waiting and the acting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.autoscaling.cluster_look import (
    ClusterLook,
    NodeGroup,
    NodeGroups,
    filter_daemon_sets,
    read_budgets,
)
from kschedweb.engine.simulation.autoscaling.context import (
    LAUNCHED,
    REMOVED,
    AutoscalerAction,
    AutoscalerContext,
    AutoscalerSetup,
)
from kschedweb.engine.values import dataclass

# Seconds between looks, and between rounds of evictions from a node that goes.
SCAN, DRAINING = 10.0, 1.0
LEAVING = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
UNNEEDED = "cluster-autoscaler removes {}"


@dataclass(frozen=True, eq=False)
class GroupsSetup(AutoscalerSetup):
    node_groups: NodeGroups
    objects: Sequence[Json]

    def start(self, context: AutoscalerContext) -> None:
        _AutoscalerLoop(self, context)

    def node_price(self, labels: Mapping[str, str]) -> float | None:
        return next((group.price for group in self.node_groups.groups if group.matches_labels(labels)), None)


@dataclass(eq=False)
class _AutoscalerLoop:
    """The loop of one simulation."""

    setup: GroupsSetup
    context: AutoscalerContext
    # The group of each node that exists or was asked for.
    _nodes: dict[str, NodeGroup] = field(default_factory=dict)
    # Nodes that were asked for and have not joined, by name.
    _coming: dict[str, Json] = field(default_factory=dict)
    # Since when each unneeded node is unneeded, in seconds.
    _idle: dict[str, float] = field(default_factory=dict)
    # Names of the nodes on their way out.
    _going: set[str] = field(default_factory=set)
    _launch_count: int = 0
    # When nodes were last asked for, in seconds.
    _added: float = float("-inf")

    def __post_init__(self) -> None:
        self._sets, self._budgets = filter_daemon_sets(self.setup.objects), read_budgets(self.setup.objects)
        self._nodes |= self.setup.node_groups.group_by_node(self.context.pods.world.nodes.values())
        self.context.schedule_background(SCAN, self._run_scan)

    def _run_scan(self, now: float) -> None:
        self.context.schedule_background(now + SCAN, self._run_scan)
        waiting = self.context.pending_pods()
        if waiting and self._scale_up([life.pod for life in waiting], now):
            return
        self._scale_down(now)

    def _make_look(self) -> ClusterLook:
        pods = self.context.pods
        return ClusterLook(
            self.setup.node_groups,
            self.context.configuration,
            pods.world.snapshot,
            self._nodes,
            self._sets,
            self._budgets,
            pods.lives.values,
            self.context.pods_to_move,
            self._going,
        )

    def _scale_up(self, pods: list[Pod], now: float) -> bool:
        """Ask for nodes of the best group; returns true if any group helps."""
        options = self._make_look().analyze_scale_up(pods, [*self._coming.values()]).options
        if not options:
            return False
        best = options[0]
        for _ in range(best.count):
            self._launch_node(best.group, f"for {len(best.helped_pods)} pods", now)
        return True

    def _launch_node(self, group: NodeGroup, purpose: str, now: float) -> None:
        self._launch_count += 1
        name = f"{group.name}-{self._launch_count}"
        self._added, self._nodes[name], self._coming[name] = now, group, group.template_node(name)
        self.context.schedule_action(now + self.setup.node_groups.launch, lambda time: self._join_node(name, time))
        price = "" if group.price is None else f", {group.price:g} an hour"
        self.context.report_action(
            AutoscalerAction(LAUNCHED, name, f"of node group {group.name}{price}, {purpose}"), now
        )

    def _join_node(self, name: str, now: float) -> None:
        self.context.add_node(self._coming.pop(name), self._sets, now)

    def _scale_down(self, now: float) -> None:
        node_groups = self.setup.node_groups
        if now - self._added < node_groups.after_add:
            self._idle.clear()
            return
        look = self._make_look()
        unneeded = [name for name in self._nodes if not look.judge_node(name).why]
        # Only nodes that are unneeded at every look keep their time.
        self._idle = {name: self._idle.get(name, now) for name in unneeded}
        for name in look.select_removable(
            [name for name, since in self._idle.items() if now - since >= node_groups.unneeded]
        ):
            self._going.add(name)
            del self._idle[name]
            taints = get_mapping(self.context.pods.world.nodes[name].raw, "spec").get("taints") or ()
            self.context.change_node(name, now, taints=(*taints, LEAVING))
            self._drain_node(name, now)

    def _drain_node(self, name: str, now: float) -> None:
        if name not in self.context.pods.world.nodes:
            del self._nodes[name]
            return
        for life in self.context.pods_to_move(name):
            if all(
                budget.disruptions_allowed(self.context.pods.lives.values())
                for budget in self._budgets
                if budget.covers_pod(life.pod)
            ):
                self.context.evict_pod(life, UNNEEDED.format(name), now)
        if not self.context.is_drained(name):
            self.context.schedule_action(now + DRAINING, lambda time: self._drain_node(name, time))
            return
        del self._nodes[name]
        self._going.discard(name)
        self.context.delete_node(name, now)
        self.context.report_action(AutoscalerAction(REMOVED, name, "unneeded"), now)
