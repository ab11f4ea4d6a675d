"""Nominated pods: they wait for victims to leave their node, and count there before they are bound."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.pod import Pod


class Nominator:
    """The nominated pods of each node, as kube-scheduler's nominator; a pod has at most one node."""

    def __init__(self) -> None:
        # Node -> key -> pod, the earliest nomination first.
        self._pods: dict[str, dict[str, Pod]] = {}
        self._nodes: dict[str, str] = {}

    @classmethod
    def from_pods(cls, pods: Iterable[Pod]) -> Nominator:
        """Return a nominator with the nominations in the status of pending ``pods``."""
        nominator = cls()
        for pod in pods:
            nominator.add_nominated_pod(pod, pod.nominated_node)
        return nominator

    def copy(self) -> Nominator:
        """Return an independent copy."""
        other = Nominator()
        other._pods = {node: dict(pods) for node, pods in self._pods.items()}
        other._nodes = dict(self._nodes)
        return other

    def __len__(self) -> int:
        return len(self._nodes)

    def clear_below(self, priority: int, node: str) -> None:
        """Remove nominations to ``node`` of pods below ``priority``, as preemption does for its pod."""
        for pod in self.nominated_pods_for_node(node):
            if pod.priority < priority:
                self.delete_nominated_pod(pod.key)

    def nominated_nodes(self) -> list[str]:
        """Return the nodes that have nominated pods."""
        return list(self._pods)

    def add_nominated_pod(self, pod: Pod, node: str) -> None:
        """Nominate ``pod`` to ``node`` in place of an earlier node; "" only removes its nomination."""
        self.delete_nominated_pod(pod.key)
        if node:
            self._nodes[pod.key] = node
            self._pods.setdefault(node, {})[pod.key] = pod

    def replace_pod(self, pod: Pod) -> None:
        """Replace the object of a nominated pod and keep its place."""
        if (node := self._nodes.get(pod.key)) is not None:
            self._pods[node][pod.key] = pod

    def update_nominated_pod(self, old: Pod, new: Pod) -> None:
        """Replace the object of a pod.

        A nomination that neither object has is newer than both and stays, as `UpdateNominatedPod` does.
        """
        stays = not old.nominated_node and not new.nominated_node
        self.add_nominated_pod(new, self.nominated_node(old.key) if stays else new.nominated_node)

    def delete_nominated_pod(self, key: str) -> None:
        """Remove the nomination of the pod ``namespace/name``, if it has one."""
        node = self._nodes.pop(key, None)
        if node is not None:
            pods = self._pods[node]
            del pods[key]
            if not pods:
                del self._pods[node]

    def nominated_node(self, key: str) -> str:
        """Return the node to which the pod ``namespace/name`` is nominated; "" if none."""
        return self._nodes.get(key, "")

    def nominated_pods_for_node(self, node: str) -> tuple[Pod, ...]:
        """Return the pods nominated to ``node``, the earliest first."""
        return tuple(self._pods.get(node, {}).values())
