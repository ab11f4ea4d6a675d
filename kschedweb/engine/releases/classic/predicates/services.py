"""CheckServiceAffinity: pods of one service go to nodes with equal values of some labels."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, Scope, Verdicts
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.labels import Requirement, Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic import words
from kschedweb.engine.releases.classic.owners import services
from kschedweb.engine.releases.classic.predicates.node import verdicts
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.groups import Selection


class CheckServiceAffinity:
    """``serviceAffinity``: rejects nodes whose ``labels`` differ from those of the node of a similar pod.

    A label in the pod's nodeSelector must have the value there. For the others, if the pod belongs to a service, the
    node of a pod with this pod's labels counts; kube-scheduler takes any of several such pods, this predicate the
    first.
    """

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name
        self.labels: list[str] = argument.get("labels") or []

    def scope(self, pod: Pod) -> Scope:
        return Scope.CLUSTER

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        snapshot, pod = cycle.snapshot, cycle.pod
        wanted = {label: value for label, value in (pod.node_selector or {}).items() if label in self.labels}
        if len(self.labels) > len(wanted) and services(snapshot.objects, pod):
            first = self._first_like(cycle)
            if first >= 0:
                there = snapshot.nodes[first].labels
                wanted = {label: there[label] for label in self.labels if label in there} | wanted
        mask: Mask = np.zeros(len(snapshot), dtype=np.bool_)
        for label, value in wanted.items():
            mask |= ~snapshot.label(label).having([value])
        return verdicts(mask[rows], words.SERVICE_AFFINITY)

    @staticmethod
    def _first_like(cycle: Cycle) -> int:
        """The node of the first pod in the namespace with all labels of this one; -1 if there is none."""
        pods, pod = cycle.snapshot.pods, cycle.pod
        selector = Selector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(pod.labels.items())))
        meant = pods.groups.meant(Selection(((frozenset({pod.namespace}), selector),)))
        slots = np.flatnonzero(meant[pods.group] & (pods.node >= 0))
        return int(pods.node[slots[0]]) if slots.size else -1
