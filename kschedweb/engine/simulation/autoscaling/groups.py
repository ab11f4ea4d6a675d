"""cluster-autoscaler in its usual configuration, at work in a simulation.

Written after its documentation (the FAQ of kubernetes/autoscaler), and not compared with its code. Each ten seconds it
looks for pods that wait: of each node group it reckons how many nodes they need, and the expander picks one group. When
none is needed, nodes whose requests are below the threshold and whose pods fit elsewhere count as unneeded; after ten
minutes they go, empty ones up to ten at once, others one by one. Nothing goes within ten minutes after nodes were asked
for. What it decides at a look is in ``looking``; here is what it waits for and does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.autoscaling.hands import AutoscalerSetup, Hands
from kschedweb.engine.simulation.autoscaling.looking import Look, NodeGroup, NodeGroups, budgets_of, sets_of
from kschedweb.engine.simulation.observer import LAUNCHED, REMOVED, Deed
from kschedweb.engine.values import dataclass

SCAN, DRAINING = 10.0, 1.0
LEAVING = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}
UNNEEDED = "cluster-autoscaler removes {}"


@dataclass(frozen=True, eq=False)
class GroupsSetup(AutoscalerSetup):
    told: NodeGroups
    objects: Sequence[Json]

    def begin(self, hands: Hands) -> None:
        _Loop(self, hands)

    def price(self, labels: Mapping[str, str]) -> float | None:
        return next((one.price for one in self.told.groups if one.holds(labels)), None)


@dataclass(eq=False)
class _Loop:
    """The loop of one simulation. ``_nodes`` has the group of each node that is there or was asked for."""

    setup: GroupsSetup
    hands: Hands
    _nodes: dict[str, NodeGroup] = field(default_factory=dict)
    _coming: dict[str, Json] = field(default_factory=dict)
    _idle: dict[str, float] = field(default_factory=dict)  # since when a node is unneeded
    _going: set[str] = field(default_factory=set)
    _made: int = 0
    _added: float = float("-inf")

    def __post_init__(self) -> None:
        self._sets, self._budgets = sets_of(self.setup.objects), budgets_of(self.setup.objects)
        self._nodes |= self.setup.told.of(self.hands.pods.world.nodes.values())
        self.hands.at(SCAN, self._scan)

    def _scan(self, now: float) -> None:
        self.hands.at(now + SCAN, self._scan)
        waiting = self.hands.pending()
        if waiting and self._scale_up([life.pod for life in waiting], now):
            return
        self._scale_down(now)

    def _look(self) -> Look:
        pods = self.hands.pods
        return Look(
            self.setup.told,
            self.hands.configuration,
            pods.world.snapshot,
            self._nodes,
            self._sets,
            self._budgets,
            pods.lives.values,
            self.hands.on,
            self._going,
        )

    def _scale_up(self, pods: list[Pod], now: float) -> bool:
        """Ask for nodes of one group; whether there are any for which there is a use."""
        options = self._look().growth(pods, [*self._coming.values()]).options
        if not options:
            return False
        best = options[0]
        for _ in range(best.count):
            self._launch(best.group, f"for {len(best.helped)} pods", now)
        return True

    def _launch(self, group: NodeGroup, what: str, now: float) -> None:
        self._made += 1
        name = f"{group.name}-{self._made}"
        self._added, self._nodes[name], self._coming[name] = now, group, group.node(name)
        self.hands.after(now + self.setup.told.launch, lambda time: self._join(name, time))
        price = "" if group.price is None else f", {group.price:g} an hour"
        self.hands.tell(Deed(LAUNCHED, name, f"of node group {group.name}{price}, {what}"), now)

    def _join(self, name: str, now: float) -> None:
        self.hands.add(self._coming.pop(name), self._sets, now)

    def _scale_down(self, now: float) -> None:
        told = self.setup.told
        if now - self._added < told.after_add:
            self._idle.clear()
            return
        look = self._look()
        unneeded = [name for name in self._nodes if not look.verdict(name).why]
        self._idle = {name: self._idle.get(name, now) for name in unneeded}
        for name in look.first([name for name, since in self._idle.items() if now - since >= told.unneeded]):
            self._going.add(name)
            del self._idle[name]
            taints = mapping(self.hands.pods.world.nodes[name].raw, "spec").get("taints") or ()
            self.hands.change(name, now, taints=(*taints, LEAVING))
            self._drain(name, now)

    def _drain(self, name: str, now: float) -> None:
        if name not in self.hands.pods.world.nodes:
            del self._nodes[name]
            return
        for life in self.hands.on(name):
            if all(one.allowed(self.hands.pods.lives.values()) for one in self._budgets if one.means(life.pod)):
                self.hands.evict(life, UNNEEDED.format(name), now)
        if not self.hands.empty(name):
            self.hands.after(now + DRAINING, lambda time: self._drain(name, time))
            return
        del self._nodes[name]
        self._going.discard(name)
        self.hands.leave(name, now)
        self.hands.tell(Deed(REMOVED, name, "unneeded"), now)
