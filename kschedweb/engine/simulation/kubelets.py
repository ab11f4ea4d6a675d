"""Pods that come with a node of their own: what its kubelet makes of them, and what becomes of those without one."""

from __future__ import annotations

from kschedweb.engine.controllers.kubelet import Refusal, acknowledged, admission
from kschedweb.engine.controllers.podgc import PERIOD, PodCollection
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.life import Departure, Life
from kschedweb.engine.simulation.nodes import Nodes
from kschedweb.engine.simulation.pods import Pods

NOT_THERE, COLLECTED = "node {} is not there", "PodGC: node no longer exists"
ENDED = Refusal("Preempting", "Preempted in order to admit critical pod")


class Kubelets:
    """``comparing``: tolerations may compare values. Pods without a node are collected where controllers work."""

    def __init__(self, pods: Pods, nodes: Nodes, *, comparing: bool, controlled: bool) -> None:
        self.pods, self.nodes = pods, nodes
        self._comparing, self._controlled = comparing, controlled
        self._orphans: dict[str, list[Life]] = {}  # by the node that is not there
        self._unasked: dict[str, list[Life]] = {}  # by the node that is silent
        self._collection = PodCollection()

    def come(self, life: Life, now: float) -> None:
        """A pod comes to the node that it names."""
        node = life.pod.node_name
        if node in self.pods.world.nodes:
            self.pods.arrive(life, now)
            self._ask(life, now)
            return
        life.message = NOT_THERE.format(node)
        self.pods.wait(life, now)
        if self._controlled and not self._orphans:
            self.pods.agenda.add(self._collection.next_time(now), self._look)
        self._orphans.setdefault(node, []).append(life)

    def heard(self, node: str, now: float) -> None:
        """The node's kubelet reports, perhaps for the first time."""
        for life in self._orphans.pop(node, []):
            if self.pods.alive(life):
                life.message = ""
                self.pods.put(life, now)
                self._ask(life, now)
        for life in self._unasked.pop(node, []):
            if self.pods.alive(life):
                self._ask(life, now)

    def _ask(self, life: Life, now: float) -> None:
        """Have the pod's kubelet say whether it runs; one that ran before was asked."""
        pod, name = life.pod, life.pod.node_name
        if acknowledged(pod):
            return
        if not self.nodes.reachable(name):
            self._unasked.setdefault(name, []).append(life)
            return
        others = [other for other in self.pods.world.pods(name) if other.key != pod.key and not self._unknown(other)]
        found = admission(pod, self.pods.world.nodes[name], others, self._comparing)
        for other in found.ended:
            self.pods.fail(self.pods.lives[other.key], ENDED, now)
        if found.refusal is not None:
            self.pods.fail(life, found.refusal, now)

    def _unknown(self, pod: Pod) -> bool:
        """Whether the kubelet does not know of the pod yet: the scheduler only assumes it there."""
        life = self.pods.lives.get(pod.key)
        return life is None or life.bound is None

    def _look(self, now: float) -> None:
        """The pod garbage collector's turn."""
        orphans = {name: [one for one in lives if self.pods.alive(one)] for name, lives in self._orphans.items()}
        self._orphans = {name: lives for name, lives in orphans.items() if lives}
        for node in self._collection.look(self._orphans, now):
            for life in self._orphans.pop(node):
                life.why, life.because, life.message = Departure.COLLECTED, COLLECTED, COLLECTED
                self.pods.gone(life, now)
        if self._orphans:
            self.pods.agenda.add(now + PERIOD, self._look)
