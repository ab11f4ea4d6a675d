"""CheckServiceAffinity: pods of one service go to nodes with equal values of some labels."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope, Verdicts
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import Requirement, Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.releases.classic.owners import find_service_selectors
from kschedweb.engine.releases.classic.predicates.node import make_verdicts
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.label_groups import Selection


class CheckServiceAffinity:
    """A predicate with ``serviceAffinity``: it rejects nodes whose ``labels`` differ from those of a similar pod's
    node.

    A label in the pod's nodeSelector must have the value there. For the others, if the pod belongs to a service, the
    node of a pod with this pod's labels counts. kube-scheduler takes any of several such pods, this predicate the
    first.
    """

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name
        self.labels: list[str] = argument.get("labels") or []

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        snapshot, pod = cycle.snapshot, cycle.pod
        required_labels = {label: value for label, value in (pod.node_selector or {}).items() if label in self.labels}
        if len(self.labels) > len(required_labels) and find_service_selectors(snapshot.objects, pod):
            first = self._first_like(cycle)
            if first >= 0:
                node_labels = snapshot.nodes[first].labels
                required_labels = {
                    label: node_labels[label] for label in self.labels if label in node_labels
                } | required_labels
        mask: Mask = np.zeros(len(snapshot), dtype=np.bool_)
        for label, value in required_labels.items():
            mask |= ~snapshot.label_column(label).match_values([value])
        return make_verdicts(mask[rows], reasons.SERVICE_AFFINITY)

    @staticmethod
    def _first_like(cycle: Cycle) -> int:
        """Return the node of the first pod in the namespace with all labels of this one; -1 if there is none."""
        pods, pod = cycle.snapshot.pods, cycle.pod
        selector = Selector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(pod.labels.items())))
        meant = pods.groups.match_selection(Selection(((frozenset({pod.namespace}), selector),)))
        slots = np.flatnonzero(meant[pods.group] & (pods.node >= 0))
        return int(pods.node[slots[0]]) if slots.size else -1
