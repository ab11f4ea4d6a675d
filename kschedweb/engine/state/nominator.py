"""Pods that wait for room on a node where others were evicted for them: they count there before they are bound."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.pod import Pod


class Nominator:
    """Which pods are nominated to which node; a pod is nominated to at most one."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}  # node -> key -> pod, the earliest nomination first
        self._nodes: dict[str, str] = {}

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> Nominator:
        """The nominations that ``pods``, which wait, carry in their status."""
        nominator = cls()
        for pod in pods:
            nominator.add(pod, pod.nominated_node)
        return nominator

    def __len__(self) -> int:
        return len(self._nodes)

    def clear_below(self, priority: int, node: str) -> None:
        """Pods of lower priority lose their nomination to ``node``: room was made there for a more important one."""
        for pod in self.on(node):
            if pod.priority < priority:
                self.remove(pod.key)

    def nodes(self) -> list[str]:
        """The nodes that pods are nominated to."""
        return list(self._pods)

    def add(self, pod: Pod, node: str) -> None:
        """Nominate ``pod`` to ``node`` instead of where it was; "" takes its nomination away."""
        self.remove(pod.key)
        if node:
            self._nodes[pod.key] = node
            self._pods.setdefault(node, {})[pod.key] = pod

    def update(self, old: Pod, new: Pod) -> None:
        """The object of a pod changed. A nomination that neither object knows of is newer than both and stays."""
        stays = not old.nominated_node and not new.nominated_node
        self.add(new, self.node(old.key) if stays else new.nominated_node)

    def remove(self, key: str) -> None:
        """Forget the pod ``namespace/name``, if it is nominated at all."""
        node = self._nodes.pop(key, None)
        if node is not None:
            pods = self._pods[node]
            del pods[key]
            if not pods:
                del self._pods[node]

    def node(self, key: str) -> str:
        """Where the pod ``namespace/name`` is nominated, "" for nowhere."""
        return self._nodes.get(key, "")

    def on(self, node: str) -> tuple[Pod, ...]:
        """The pods nominated to ``node``, in the order in which they were."""
        return tuple(self._pods.get(node, {}).values())
