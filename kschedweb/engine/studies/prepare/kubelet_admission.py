"""Find pods that are bound at the beginning, but that their kubelets have not admitted and will refuse."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from kschedweb.engine.controllers.kubelet import PODS, admit_to_node, find_unsuited, is_acknowledged
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE


def find_refused_pods(nodes: Mapping[str, Json], bound: Iterable[Json]) -> list[str]:
    """Return the keys of ``bound`` pods that their kubelet refuses, or that make it evict others.

    Pods whose node does not exist are among them. A kubelet admits its pods in the order in which they are listed,
    after those that it runs already.
    """
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for raw in bound:
        pod = Pod.from_json(raw)
        by_node[pod.node_name].append(pod)
    keys = []
    for name, pods in by_node.items():
        new = [pod for pod in pods if not is_acknowledged(pod)]
        if name not in nodes:
            keys += [pod.key for pod in pods]
        elif new:
            keys += _refused_pods(Node.from_json(nodes[name]), [pod for pod in pods if is_acknowledged(pod)], new)
    return keys


def _refused_pods(node: Node, running: list[Pod], new: list[Pod]) -> list[str]:
    """Return the keys of ``new`` pods that the node's kubelet does not simply admit."""
    if _all_fit(node, running, new):
        return []
    refused = []
    for pod in new:
        answer = admit_to_node(pod, node, running)
        if answer.refusal is None and not answer.ended:
            running.append(pod)
        else:
            refused.append(pod.key)
    return refused


def _all_fit(node: Node, running: list[Pod], new: list[Pod]) -> bool:
    """Return whether a quick look shows that all pods run: there is room, and they have no other demands."""
    if any(taint.effect == NO_EXECUTE for taint in node.taints):
        return False
    if any(pod.host_ports or pod.node_selector or pod.node_affinity.required is not None for pod in new):
        return False
    if any(find_unsuited(pod, node) for pod in new):
        return False
    # Sums over all pods at once are much cheaper than admitting one pod after the other.
    requested: Counter[str] = Counter()
    for pod in (*running, *new):
        requested.update(pod.occupied)
        requested[PODS] += 1
    resources = {PODS}.union(*(pod.requests for pod in new))
    return all(requested[name] <= node.allocatable.get(name, 0) for name in resources)
