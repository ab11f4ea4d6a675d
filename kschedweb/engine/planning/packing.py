"""Bounds for freeing nodes: how many must stay for the pods' requests, if pods could be split and placed anywhere."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kschedweb.engine.planning.evictable import OF_THE_NODE
from kschedweb.engine.planning.trial_cluster import TrialCluster
from kschedweb.engine.state.columns import Floats, Ints

PODS = "pods"


class Packing:
    """The requests of all movable and staying pods, and the room of nodes, with a row for each resource.

    Pods that exist because of their node are subtracted from its room. Nodes in ``stuck`` cannot be emptied.
    """

    def __init__(self, trial_cluster: TrialCluster, stuck: Collection[str]) -> None:
        snapshot = trial_cluster.snapshot
        size = len(snapshot)
        rows = {name: row for row, name in enumerate([*snapshot.resources, PODS])}
        room: Ints = np.vstack([snapshot.allocatable, snapshot.pod_limit[None, :]]).astype(np.int64)
        requested: Ints = np.zeros((len(rows), size), dtype=np.int64)
        for pod in filter(None, snapshot.pods.pods):
            place = snapshot.index[pod.node_name]
            of_node = trial_cluster.stays.get(pod.key, "") in OF_THE_NODE
            target = room if of_node else requested
            for name, amount in {**pod.occupied, PODS: 1}.items():
                if name in rows:
                    target[rows[name], place] += -amount if of_node else amount
        # A node that holds more than its room may stay as it is.
        self._room: Floats = np.maximum(room, requested).astype(np.float64)
        self._requested: Floats = requested.sum(axis=1).astype(np.float64)
        fixed = np.array([name in stuck for name in snapshot.names], dtype=np.bool_)
        closed = np.array([node.unschedulable for node in snapshot.nodes], dtype=np.bool_)
        # Pods on a cordoned node that stays need no room elsewhere.
        stays = fixed & closed
        self._requested -= requested[:, stays].sum(axis=1)
        self._room[:, closed] = 0.0
        self._fixed, self._free = fixed, ~fixed

    def most_freed(self) -> int:
        """Return the most nodes that can go: for each resource, the roomiest nodes must hold what is requested."""
        candidates = int(self._free.sum())
        return candidates - max((self._count_needed_nodes(row) for row in range(len(self._requested))), default=0)

    def _count_needed_nodes(self, row: int) -> int:
        lacks = self._requested[row] - self._room[row, self._fixed].sum()
        if lacks <= 0.0:
            return 0
        sums = np.cumsum(np.sort(self._room[row, self._free])[::-1])
        return min(int(np.searchsorted(sums, lacks, side="left")) + 1, int(self._free.sum()))

    def least_cost(self, cost: Floats) -> float:
        """Return the least that must be paid if nodes could stay in part: for each resource, the cheapest room
        first."""
        fixed = float(cost[self._fixed].sum())
        return fixed + max((self._compute_least_cost(row, cost) for row in range(len(self._requested))), default=0.0)

    def _compute_least_cost(self, row: int, cost: Floats) -> float:
        lacks = self._requested[row] - self._room[row, self._fixed].sum()
        room, price = self._room[row, self._free], cost[self._free]
        useful = room > 0.0
        room, price = room[useful], price[useful]
        order = np.argsort(price / room, kind="stable")
        before = np.append(0.0, np.cumsum(room[order]))[:-1]
        used = np.clip(lacks - before, 0.0, room[order])
        return float((price[order] * used / room[order]).sum())
