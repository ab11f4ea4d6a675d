"""The handle through which PostFilter plugins use the cycle that they take part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.explanation import FilterColumn
from kschedweb.engine.framework.interface import Cycle, FilterPlugin, PluginScope, PreemptingExtender
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.values import dataclass

Rows = NDArray[np.intp]
BESIDE_NOMINATED = "Beside nominated pods"


@dataclass(slots=True)
class CycleHandle:
    """A handle that asks the plugins of one framework, without those whose PreFilter returned Skip."""

    framework: Framework
    # Names of the plugins whose PreFilter returned Skip: their Filter is not called.
    skipped: set[str]
    # Pods that wait for the node that preemption has nominated for them.
    nominator: Nominator = field(default_factory=Nominator)
    # In the order in which preemption asks them.
    extenders: Sequence[PreemptingExtender] = ()
    # Look at all nodes, for an explanation, rather than at as many as a decision needs.
    thorough: bool = False
    # Report what would be done, and do nothing.
    explains: bool = False
    # Changes are made in the real cluster, which shows them later, and not in the snapshot.
    elsewhere: bool = False

    def fits(self, cycle: Cycle, node: int) -> Status:
        """Return whether the pod fits on the node at a position, both with the pods nominated to it and without them.

        Raises CycleError where the answer lies outside the simulation.
        """
        # As `RunFilterPluginsWithNominatedPods` does: with the nominated pods first, then without them. The pods may be
        # nominated and never arrive, and then a pod that needs them by affinity must not rely on them.
        status = SUCCESS
        yielding = list_nominated_pods(cycle, self.nominator, node)
        if yielding:
            status = self._fits_beside(cycle, node, yielding)
        if status.ok:
            status = self.framework.filter_one(cycle, self.skipped, node)
        if not status.simulated:
            raise status.cycle_error
        return status.decisive

    def beside_nominated(self, cycle: Cycle) -> FilterColumn | None:
        """Return the filters' verdicts on nodes with nominated pods, with those pods added; ``None`` if there are no
        such nodes.
        """
        if not len(self.nominator):
            return None
        statuses: list[Status] = [SUCCESS]
        codes: Codes = np.zeros(len(cycle.snapshot), dtype=np.int32)
        evaluated = False
        for name in self.nominator.nominated_nodes():
            node = cycle.snapshot.index.get(name)
            if node is not None and (yielding := list_nominated_pods(cycle, self.nominator, node)):
                evaluated = True
                status = self._fits_beside(cycle, node, yielding)
                if not status.ok:
                    codes[node] = len(statuses)
                    statuses.append(status)
        return FilterColumn(BESIDE_NOMINATED, False, codes, statuses) if evaluated else None

    def find_crowded_nodes(self, cycle: Cycle) -> frozenset[int]:
        """Return the positions of nodes that have nominated pods for which the cycle's pod must leave room."""
        nodes = (cycle.snapshot.index.get(name) for name in self.nominator.nominated_nodes())
        return frozenset(
            node for node in nodes if node is not None and list_nominated_pods(cycle, self.nominator, node)
        )

    def filters_beyond_room(self, pod: Pod) -> list[FilterPlugin]:
        """Return the filters for ``pod`` whose scope is wider than ``PluginScope.ROOM``."""
        return [
            plugin for plugin in self._active_filters() if self.framework.plugin_scope(plugin, pod) > PluginScope.ROOM
        ]

    def looks_at_nodes_alone(self, pod: Pod) -> bool:
        """Return whether every filter for ``pod`` judges a node by that node and its pods alone."""
        return all(self.framework.plugin_scope(plugin, pod) < PluginScope.CLUSTER for plugin in self._active_filters())

    def refusals(
        self,
        cycle: Cycle,
        nodes: Rows,
        filter_columns: Sequence[FilterColumn],
        farthest: PluginScope = PluginScope.CLUSTER,
    ) -> tuple[Codes, list[Status]]:
        """Return the first refusal of each of ``nodes`` (positions): codes that index the statuses, 0 where none
        refuses.

        Verdicts on node objects are taken from ``filter_columns``, which cover all nodes. Filters with a wider scope
        than ``farthest`` are left out.
        """
        columns = {column.plugin: column for column in filter_columns}
        statuses: list[Status] = [SUCCESS]
        first: Codes = np.zeros(len(nodes), dtype=np.int32)
        for plugin in self._active_filters():
            if self.framework.plugin_scope(plugin, cycle.pod) > farthest:
                continue
            # A verdict on the node object cannot have changed since the first pass, so it is not asked for again.
            if plugin.name in columns and self.framework.plugin_scope(plugin, cycle.pod) is PluginScope.NODE:
                verdicts, codes = columns[plugin.name].verdicts, columns[plugin.name].codes[nodes]
            else:
                column = self.framework.ask_filter(plugin, cycle, nodes)
                verdicts, codes = column.verdicts, column.codes
            if codes.any():
                first = np.where((first == 0) & (codes != 0), codes + np.int32(len(statuses) - 1), first)
                statuses += verdicts[1:]
        return first, statuses

    def have_room(self, cycle: Cycle, nodes: Rows) -> Mask:
        """Return a mask of the ``nodes`` that pass the filters of scope ``PluginScope.ROOM``."""
        passes: Mask = np.ones(len(nodes), dtype=np.bool_)
        for plugin in self._active_filters():
            if self.framework.plugin_scope(plugin, cycle.pod) is PluginScope.ROOM:
                passes &= plugin.filter(cycle, nodes).codes == 0
        return passes

    def _active_filters(self) -> list[FilterPlugin]:
        return [plugin for plugin in self.framework.points.filter if plugin.name not in self.skipped]

    def _fits_beside(self, cycle: Cycle, node: int, nominated: list[Pod]) -> Status:
        # Pods are added to the snapshot itself and taken out again: a copy of its columns would cost more.
        trial = cycle.with_snapshot(cycle.snapshot)
        added: list[Pod] = []
        try:
            for other in nominated:
                trial.snapshot.add_pod(other, node)
                added.append(other)
                self.move_pod(trial, other, node, add=True)
            return self.framework.filter_one(trial, self.skipped, node)
        finally:
            for other in added:
                trial.snapshot.remove_pod(other.key)
            if any(other.host_ports for other in added):
                trial.snapshot.hold_ports(node)

    def move_pod(self, cycle: Cycle, pod: Pod, node: int, *, add: bool) -> None:
        """Tell the plugins that ``pod`` came to the node at a position, or left it."""
        self.framework.move_pod(cycle, self.skipped, pod, node, add=add)


def list_nominated_pods(cycle: Cycle, nominator: Nominator, node: int) -> list[Pod]:
    """Return the pods nominated to the node at a position whose priority is at least that of the cycle's pod.

    As `addGENominatedPods` selects them.
    """
    if not len(nominator):
        return []
    pod, bound = cycle.pod, cycle.snapshot.pods.slots
    nominated = nominator.nominated_pods_for_node(cycle.snapshot.names[node])
    return [
        other
        for other in nominated
        if other.priority >= pod.priority and other.uid != pod.uid and other.key not in bound
    ]
