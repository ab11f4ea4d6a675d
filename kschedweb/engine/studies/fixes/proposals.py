"""Changes that answer one filter's verdict on one node; the search tries which of them help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.objects.pod import Pod, ports_conflict
from kschedweb.engine.objects.taints import find_untolerated
from kschedweb.engine.plugins.interpodaffinity import ANTI_AFFINITY_FACT, EXISTING_FACT, NEAR
from kschedweb.engine.plugins.nodeaffinity import POD_AFFINITY_FACT
from kschedweb.engine.plugins.noderesourcesfit import PODS
from kschedweb.engine.plugins.podtopologyspread import SKEW, Constraint
from kschedweb.engine.studies.fixes import node_changes
from kschedweb.engine.studies.fixes.changes import Change
from kschedweb.engine.studies.fixes.owners import PodSource, find_pod_source
from kschedweb.engine.studies.fixes.pod_changes import PodChanges
from kschedweb.engine.studies.fixes.shortages import find_resource_shortages

# Changes that go together: all of them answer one verdict.
Proposal = tuple[Change, ...]
# A change of the node, and one of the pod, each of which answers one condition; None where there is none.
LabelAnswers = tuple[Change | None, Change | None]
# Filters against which it helps that a pod leaves the node.
MOVABLE = frozenset({"NodeResourcesFit", "NodePorts"})


class Proposer:
    """Proposes changes for one pod that waits in a cluster."""

    def __init__(self, scheduler: Scheduler, pod: Pod, source: PodSource | None = None) -> None:
        self.scheduler, self.pod, self.snapshot = scheduler, pod, scheduler.snapshot
        self.pod_changes = PodChanges(pod, source or find_pod_source(pod, self.snapshot.objects))
        self._by_plugin: dict[str, Callable[[int, Status], Iterator[Proposal]]] = {
            "NodeResourcesFit": self._make_room,
            "TaintToleration": self._answer_taints,
            "NodeUnschedulable": self._uncordon,
            "NodeAffinity": self._match_labels,
            "PodTopologySpread": self._spread,
            "InterPodAffinity": self._soften,
            "NodePorts": self._free_ports,
        }

    def propose(self, node: int, status: Status, *, moving: bool = False) -> list[Proposal]:
        """Return proposals against a verdict on the node at a position; none if nothing is known to help.

        With ``moving`` they move a pod of the node, where that can help.
        """
        if moving and status.plugin in MOVABLE:
            return [(move,) for move in self._move_pods(node, status)]
        proposer = self._by_plugin.get(status.plugin)
        return [] if proposer is None else [proposal for proposal in proposer(node, status) if proposal]

    def _node(self, position: int) -> Node:
        return self.snapshot.nodes[position]

    def _make_room(self, position: int, status: Status) -> Iterator[Proposal]:
        shortages = [
            item for item in find_resource_shortages(self.snapshot, self.pod, position) if item.resource in status.facts
        ]
        if any(not item.allocatable for item in shortages):
            # What the node does not have at all, it cannot be made to have.
            return
        full = PODS in status.facts
        limit = (node_changes.raise_pod_limit(self.snapshot, self._node(position)),) if full else ()
        lowered = [self.pod_changes.lower_request(item) for item in shortages]
        if all(lowered):
            yield (*(change for change in lowered if change), *limit)

    def _move_pods(self, position: int, status: Status) -> Iterator[Change]:
        """Yield the first move of a pod of the node that answers ``status``."""
        if status.plugin == "NodePorts":
            keys = {other.key for _, other in self._list_port_conflicts(position)}
            resources: list[str] = []
        else:
            keys, shortages = None, find_resource_shortages(self.snapshot, self.pod, position)
            if any(item.requested > item.allocatable for item in shortages):
                return
            resources = [item.resource for item in shortages]
        moves = node_changes.find_moves(self.scheduler, self.pod, position, resources, keys)
        yield from islice(moves, 1)

    def _answer_taints(self, position: int, _: Status) -> Iterator[Proposal]:
        node = self._node(position)
        taints = find_untolerated(node.taints, self.pod.tolerations)
        if all(taint.key == node_changes.UNSCHEDULABLE_TAINT for taint in taints):
            yield (node_changes.uncordon_node(node),)
            return
        removed = tuple(node_changes.remove_taint(node, taint) for taint in taints)
        if all(taint.key not in CONTROLLED for taint in taints):
            yield tuple(self.pod_changes.tolerate(taint) for taint in taints)
        yield removed

    def _uncordon(self, position: int, _: Status) -> Iterator[Proposal]:
        yield (node_changes.uncordon_node(self._node(position)),)

    def _match_labels(self, position: int, status: Status) -> Iterator[Proposal]:
        if POD_AFFINITY_FACT not in status.facts:
            return
        node = self._node(position)
        answers = [*self._answer_selector(node), *self._answer_affinity(node)]
        labels, pod_changes = [label for label, _ in answers], [change for _, change in answers]
        if all(labels):
            yield tuple(change for change in labels if change)
        if all(pod_changes):
            yield tuple(change for change in pod_changes if change)

    def _answer_selector(self, node: Node) -> Iterator[LabelAnswers]:
        """Yield the answers to each part of the node selector that the node does not match."""
        for key, value in (self.pod.node_selector or {}).items():
            if node.labels.get(key) == value:
                continue
            label = node_changes.label_node(node, key, value)
            if key in node.labels:
                known_values = self.snapshot.label_column(key).values
                yield label, self.pod_changes.change_node_selector(key, node.labels[key], known_values)
            else:
                yield label, self.pod_changes.remove_node_selector(key)

    def _answer_affinity(self, node: Node) -> Iterator[LabelAnswers]:
        """Yield the answers to each condition of the required term that the node comes nearest to matching."""
        required = self.pod.node_affinity.required
        if required is None or any(term.matches(node.name, node.labels) for term in required):
            return
        index = min(range(len(required)), key=lambda at: _count_misses(required[at], node), default=None)
        if index is None or not _matches_fields(required[index], node):
            yield None, None
            return
        for place, condition in enumerate(required[index].labels):
            if condition.matches(node.labels):
                continue
            is_in = condition.operator == "In" and bool(condition.values)
            label, extended = None, None
            if is_in or condition.operator == "Exists":
                label = node_changes.label_node(node, condition.key, condition.values[0] if is_in else "")
            if is_in and condition.key in node.labels:
                extended = self.pod_changes.extend_node_affinity(index, place, node.labels[condition.key])
            yield label, extended

    @cached_property
    def _spread_constraints(self) -> list[Constraint]:
        """The hard constraints with their counts, as the plugin's PreFilter leaves them."""
        cycle = Cycle(self.snapshot, self.pod)
        try:
            self.scheduler.framework(self.pod).pre_filter(cycle)
        except CycleError:
            return []
        return list(cycle.state.get("PodTopologySpread") or [])

    def _spread(self, position: int, status: Status) -> Iterator[Proposal]:
        if not self.pod.spread_constraints:
            return
        if SKEW not in status.facts:
            labels = self._node(position).labels
            hard = [constraint.topology_key for constraint in self.pod.spread_constraints if constraint.is_hard]
            yield self.pod_changes.soften_spread(dict.fromkeys(key for key in hard if key not in labels))
            return
        plugin = self.scheduler.framework(self.pod).plugin("PodTopologySpread")
        alternatives: list[list[Change]] = []
        for constraint in self._spread_constraints:
            code = int(constraint.column.codes[position])
            skew = int(plugin.skew(self.pod, constraint)[code])
            if skew > constraint.rule.max_skew:
                alternatives.append(self.pod_changes.raise_skew(constraint.rule.topology_key, skew))
        if alternatives and all(alternatives):
            yield tuple(changes[0] for changes in alternatives)
            yield tuple(changes[-1] for changes in alternatives)

    def _soften(self, position: int, status: Status) -> Iterator[Proposal]:
        if NEAR in status.facts:
            yield self.pod_changes.soften_affinity("podAffinity")
        if ANTI_AFFINITY_FACT in status.facts:
            yield self.pod_changes.soften_affinity("podAntiAffinity")
        if EXISTING_FACT in status.facts:
            yield self._soften_others(position)

    def _soften_others(self, position: int) -> Proposal:
        """Return the changes of the pods whose anti-affinity keeps this one away; none if they have several owners."""
        repelling_pods = self._list_repelling_pods(position)
        owners = {find_pod_source(other, self.snapshot.objects).target for other in repelling_pods}
        if len(owners) != 1:
            return ()
        kind, namespace, name = owners.pop()
        return node_changes.soften_others(repelling_pods, namespace, f"{kind}/{name}")

    def _list_repelling_pods(self, position: int) -> list[Pod]:
        """Return the placed pods with a required anti-affinity to this pod that reaches a node."""
        labels, namespace = self._node(position).labels, self.snapshot.objects.namespace_labels(self.pod.namespace)
        repelling = []
        for slot in self.snapshot.pods.slots.values():
            other = self.snapshot.pods.pods[slot]
            if other is None or not other.pod_affinity.anti_required:
                continue
            other_labels = self._node(self.snapshot.index[other.node_name]).labels
            for term in other.pod_affinity.anti_required:
                value = other_labels.get(term.topology_key)
                is_near = value is not None and labels.get(term.topology_key) == value
                if is_near and term.matches(self.pod.namespace, self.pod.labels, namespace):
                    repelling.append(other)
                    break
        return repelling

    def _free_ports(self, position: int, _: Status) -> Iterator[Proposal]:
        ports = sorted({port for port, _ in self._list_port_conflicts(position)})
        yield tuple(change for port in ports for change in self.pod_changes.remove_host_port(port))

    def _list_port_conflicts(self, position: int) -> list[tuple[int, Pod]]:
        """Return (host port, pod that has it) for the ports of this pod that are taken on a node."""
        return [
            (mine[2], other)
            for other in self.snapshot.pods.pods_on(position)
            for mine in self.pod.host_ports
            if any(ports_conflict(mine, theirs) for theirs in other.host_ports)
        ]


def _matches_fields(term: NodeSelectorTerm, node: Node) -> bool:
    names = term.node_names()
    return not term.fields or (names is not None and node.name in names)


def _count_misses(term: NodeSelectorTerm, node: Node) -> int:
    return sum(not condition.matches(node.labels) for condition in term.labels) + 10 * (not _matches_fields(term, node))
