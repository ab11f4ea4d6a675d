"""Pods that are on nodes at the beginning, and that their kubelets have not taken in: which of them will not run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from kschedweb.engine.controllers.kubelet import PODS, acknowledged, admission, unsuited
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE


def turned_away(nodes: Mapping[str, Json], bound: Iterable[Json]) -> list[str]:
    """The keys of the pods in ``bound`` whose node is not there, or whose kubelet fails them or others for them.

    A kubelet is asked of its pods in the order in which they are listed, those that it runs already first.
    """
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for raw in bound:
        pod = Pod.read(raw)
        by_node[pod.node_name].append(pod)
    found = []
    for name, pods in by_node.items():
        new = [pod for pod in pods if not acknowledged(pod)]
        if name not in nodes:
            found += [pod.key for pod in pods]
        elif new:
            found += _refused(Node.read(nodes[name]), [pod for pod in pods if acknowledged(pod)], new)
    return found


def _refused(node: Node, there: list[Pod], new: list[Pod]) -> list[str]:
    if _plain(node, there, new):
        return []
    refused = []
    for pod in new:
        answer = admission(pod, node, there)
        if answer.refusal is None and not answer.ended:
            there.append(pod)
        else:
            refused.append(pod.key)
    return refused


def _plain(node: Node, there: list[Pod], new: list[Pod]) -> bool:
    """Whether it is clear at one look that all of them run: there is room, and they ask for nothing else."""
    if any(taint.effect == NO_EXECUTE for taint in node.taints):
        return False
    if any(pod.host_ports or pod.node_selector or pod.node_affinity.required is not None for pod in new):
        return False
    if any(unsuited(pod, node) for pod in new):
        return False
    taken: Counter[str] = Counter()
    for pod in (*there, *new):
        taken.update(pod.occupied)
        taken[PODS] += 1
    wanted = {PODS}.union(*(pod.requests for pod in new))
    return all(taken[name] <= node.allocatable.get(name, 0) for name in wanted)
