"""Show one cluster to two kinds of schedulers: a classic one sees other amounts, zones and volumes than a new one."""

from __future__ import annotations

from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.nodecolumns import NodeColumns
from kschedweb.engine.state.snapshot import Snapshot


class Twin:
    """Keep a snapshot of the given ``kind`` in step with snapshots of another kind."""

    def __init__(self, kind: type[Snapshot]) -> None:
        self._kind = kind
        self._snapshot = kind()
        self._columns: NodeColumns | None = None
        # Pods as they are in the other snapshot, by key. A changed pod is another object, so identity tells changes.
        self._pods: dict[str, Pod] = {}

    def mirror_snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Return the same cluster as ``snapshot`` in the given kind; ``snapshot`` itself if it is of the kind."""
        if type(snapshot) is self._kind:
            return snapshot
        if snapshot.node_columns is not self._columns:
            nodes = (Node.from_json(self._kind.of_today(node.raw)) for node in snapshot.nodes)
            self._snapshot, self._columns, self._pods = self._kind(nodes, snapshot.objects), snapshot.node_columns, {}
        self._sync_pods({pod.key: pod for pod in snapshot.pods.pods if pod is not None})
        twin = self._snapshot
        twin.resource_claims, twin.now, twin.watermarks = snapshot.resource_claims, snapshot.now, snapshot.watermarks
        return twin

    def _sync_pods(self, pods_by_key: dict[str, Pod]) -> None:
        for key in [key for key, pod in self._pods.items() if pods_by_key.get(key) is not pod]:
            self._snapshot.remove_pod(key)
            del self._pods[key]
        for key in pods_by_key.keys() - self._pods.keys():
            pod = self._pods[key] = pods_by_key[key]
            self._snapshot.add_pod(Pod.from_json(pod.raw).on(pod.node_name), self._snapshot.index[pod.node_name])
