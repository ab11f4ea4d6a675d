"""One cycle as its PostFilter plugins may use it."""

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
    """Asks the plugins of ``framework``, but for those whose PreFilter skipped them."""

    framework: Framework
    skipped: set[str]
    nominator: Nominator = field(default_factory=Nominator)
    extenders: Sequence[PreemptingExtender] = ()
    thorough: bool = False
    explains: bool = False
    elsewhere: bool = False

    def fits(self, cycle: Cycle, node: int) -> Status:
        """Whether the pod fits on the node at a position: with the pods nominated to it, and without them.

        Raises CycleError where the answer lies outside the simulation.
        """
        status = SUCCESS
        yielding = to_yield_to(cycle, self.nominator, node)
        if yielding:
            status = self._fits_beside(cycle, node, yielding)
        if status.ok:
            status = self.framework.filter_one(cycle, self.skipped, node)
        if not status.simulated:
            raise status.cycle_error
        return status.decisive

    def beside_nominated(self, cycle: Cycle) -> FilterColumn | None:
        """What the filters say of nodes when the pods nominated there count; ``None`` where none has to."""
        if not len(self.nominator):
            return None
        statuses: list[Status] = [SUCCESS]
        codes: Codes = np.zeros(len(cycle.snapshot), dtype=np.int32)
        evaluated = False
        for name in self.nominator.nominated_nodes():
            node = cycle.snapshot.index.get(name)
            if node is not None and (yielding := to_yield_to(cycle, self.nominator, node)):
                evaluated = True
                status = self._fits_beside(cycle, node, yielding)
                if not status.ok:
                    codes[node] = len(statuses)
                    statuses.append(status)
        return FilterColumn(BESIDE_NOMINATED, False, codes, statuses) if evaluated else None

    def find_crowded_nodes(self, cycle: Cycle) -> frozenset[int]:
        """The nodes with pods nominated to them that the cycle's pod must leave room for."""
        nodes = (cycle.snapshot.index.get(name) for name in self.nominator.nominated_nodes())
        return frozenset(node for node in nodes if node is not None and to_yield_to(cycle, self.nominator, node))

    def filters_beyond_room(self, pod: Pod) -> list[FilterPlugin]:
        """The filters for ``pod`` whose scope is wider than ``PluginScope.ROOM``."""
        return [
            plugin for plugin in self._active_filters() if self.framework.plugin_scope(plugin, pod) > PluginScope.ROOM
        ]

    def looks_at_nodes_alone(self, pod: Pod) -> bool:
        """Whether no filter for ``pod`` looks, of a node, at more than the node and its pods."""
        return all(self.framework.plugin_scope(plugin, pod) < PluginScope.CLUSTER for plugin in self._active_filters())

    def refusals(
        self,
        cycle: Cycle,
        nodes: Rows,
        filter_columns: Sequence[FilterColumn],
        farthest: PluginScope = PluginScope.CLUSTER,
    ) -> tuple[Codes, list[Status]]:
        """The first refusal of each of ``nodes`` (positions): codes that index the statuses, 0 where there is none.

        What filters said about node objects is taken from ``filter_columns``, which are over all nodes. Filters that
        look further than ``farthest`` are left out.
        """
        columns = {column.plugin: column for column in filter_columns}
        statuses: list[Status] = [SUCCESS]
        first: Codes = np.zeros(len(nodes), dtype=np.int32)
        for plugin in self._active_filters():
            if self.framework.plugin_scope(plugin, cycle.pod) > farthest:
                continue
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
        """Which of ``nodes`` pass the filters that look at what a node has room for."""
        passes: Mask = np.ones(len(nodes), dtype=np.bool_)
        for plugin in self._active_filters():
            if self.framework.plugin_scope(plugin, cycle.pod) is PluginScope.ROOM:
                passes &= plugin.filter(cycle, nodes).codes == 0
        return passes

    def _active_filters(self) -> list[FilterPlugin]:
        return [plugin for plugin in self.framework.points.filter if plugin.name not in self.skipped]

    def _fits_beside(self, cycle: Cycle, node: int, nominated: list[Pod]) -> Status:
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


def to_yield_to(cycle: Cycle, nominator: Nominator, node: int) -> list[Pod]:
    """The pods nominated to the node at a position that are not less important than the cycle's pod."""
    if not len(nominator):
        return []
    pod, bound = cycle.pod, cycle.snapshot.pods.slots
    nominated = nominator.nominated_pods_for_node(cycle.snapshot.names[node])
    return [
        other
        for other in nominated
        if other.priority >= pod.priority and other.uid != pod.uid and other.key not in bound
    ]
