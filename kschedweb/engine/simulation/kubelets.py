"""Kubelets, and the pods that are created with a node: their admission, and the end of those without one."""

from __future__ import annotations

from kschedweb.engine.controllers.kubelet import KubeletRefusal, admit_to_node, is_acknowledged
from kschedweb.engine.controllers.podgc import PERIOD, PodCollection
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.nodes import SimulatedNodes
from kschedweb.engine.simulation.pod_life import Departure, PodLife
from kschedweb.engine.simulation.pods import Pods

NOT_THERE, COLLECTED = "node {} is not there", "PodGC: node no longer exists"
ENDED = KubeletRefusal("Preempting", "Preempted in order to admit critical pod")


class Kubelets:
    """Lets kubelets admit pods.

    ``comparison_operators``: tolerations may compare values. ``controlled``: controllers work, so that pods of
    missing nodes are collected.
    """

    def __init__(self, pods: Pods, nodes: SimulatedNodes, *, comparison_operators: bool, controlled: bool) -> None:
        self.pods, self.nodes = pods, nodes
        self._comparison_operators, self._controlled = comparison_operators, controlled
        # Pods of missing nodes, by node.
        self._orphans: dict[str, list[PodLife]] = {}
        # Pods that wait for their silent kubelet, by node.
        self._unasked: dict[str, list[PodLife]] = {}
        self._collection = PodCollection()

    def on_pod_arrival(self, life: PodLife, now: float) -> None:
        """Take in a pod that names its node."""
        node = life.pod.node_name
        if node in self.pods.world.nodes:
            self.pods.add_pod(life, now)
            self._ask_kubelet(life, now)
            return
        life.message = NOT_THERE.format(node)
        self.pods.wait(life, now)
        if self._controlled and not self._orphans:
            self.pods.agenda.schedule_action(self._collection.next_time(now), self._collect_garbage)
        self._orphans.setdefault(node, []).append(life)

    def on_report(self, node: str, now: float) -> None:
        """Take in a report of the node's kubelet, perhaps its first."""
        for life in self._orphans.pop(node, []):
            if self.pods.is_alive(life):
                life.message = ""
                self.pods.put_on_node(life, now)
                self._ask_kubelet(life, now)
        for life in self._unasked.pop(node, []):
            if self.pods.is_alive(life):
                self._ask_kubelet(life, now)

    def _ask_kubelet(self, life: PodLife, now: float) -> None:
        """Let the pod's kubelet decide whether it runs; a pod that ran before has passed this."""
        pod, name = life.pod, life.pod.node_name
        if is_acknowledged(pod):
            return
        if not self.nodes.is_reachable(name):
            self._unasked.setdefault(name, []).append(life)
            return
        other_pods = [
            other for other in self.pods.world.pods_on(name) if other.key != pod.key and not self._is_unknown(other)
        ]
        admission_result = admit_to_node(pod, self.pods.world.nodes[name], other_pods, self._comparison_operators)
        for other in admission_result.ended:
            self.pods.fail_pod(self.pods.lives[other.key], ENDED, now)
        if admission_result.refusal is not None:
            self.pods.fail_pod(life, admission_result.refusal, now)

    def _is_unknown(self, pod: Pod) -> bool:
        """Return true if the kubelet does not know the pod yet, because the scheduler only assumes it there."""
        life = self.pods.lives.get(pod.key)
        return life is None or life.bound is None

    def _collect_garbage(self, now: float) -> None:
        """Run the pod garbage collector."""
        orphans = {
            name: [orphan for orphan in lives if self.pods.is_alive(orphan)] for name, lives in self._orphans.items()
        }
        self._orphans = {name: lives for name, lives in orphans.items() if lives}
        for node in self._collection.collect_nodes(self._orphans, now):
            for life in self._orphans.pop(node):
                life.why, life.because, life.message = Departure.COLLECTED, COLLECTED, COLLECTED
                self.pods.remove_pod(life, now)
        if self._orphans:
            self.pods.agenda.schedule_action(now + PERIOD, self._collect_garbage)
