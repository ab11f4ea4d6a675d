"""The bound pods and the amounts that they request of their nodes."""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import COUNTING
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Ints, pad_rows
from kschedweb.engine.state.nodecolumns import NodeColumns, with_rows
from kschedweb.engine.state.pod_table import PodTable
from kschedweb.engine.state.volumes.use import VolumeUse
from kschedweb.engine.validation.golang import INT64_MAX, wrap_int64


class PodState:
    """The state of nodes that depends on their pods. It changes in place; nodes are positions."""

    def __init__(self, columns: NodeColumns, objects: ClusterObjects) -> None:
        size = len(columns.nodes)
        self.pods = PodTable(size)
        # Resource name -> row of `requested`.
        self.resources = columns.resources
        # int64[resources, nodes], in milli-CPU and whole units.
        self.requested: Ints = np.zeros((len(self.resources), size), dtype=np.int64)
        # int64[2, nodes]: milli-CPU and bytes, with kube-scheduler's defaults for missing requests.
        self.nonzero: Ints = np.zeros((2, size), dtype=np.int64)
        # int64[nodes].
        self.pod_count: Ints = np.zeros(size, dtype=np.int64)
        # (protocol, port) -> address -> 1 for each node where it is in use.
        self.ports: dict[tuple[str, int], dict[str, Ints]] = {}
        self.volumes = VolumeUse(columns.index, objects.storage)
        # How the release that decides counts the amounts that pods take.
        self.counting = COUNTING
        # Nodes with a sum that stopped at the largest int64, so that nothing can be subtracted from it.
        self.saturated: set[int] = set()
        # Key -> seconds of the epoch, of pods placed after the snapshot was made.
        self.placed: dict[str, float] = {}
        # Scheduling group -> keys of its pods, in order of arrival.
        self.grouped: dict[str, dict[str, None]] = {}

    def copy(self, objects: ClusterObjects) -> Self:
        """Return an independent copy over ``objects``, a copy of the cluster's objects."""
        other = self.with_own_amounts()
        other.pods, other.placed = self.pods.copy(), dict(self.placed)
        other.grouped = {group: dict(keys) for group, keys in self.grouped.items()}
        other.ports = {port: {ip: counts.copy() for ip, counts in ips.items()} for port, ips in self.ports.items()}
        other.volumes = self.volumes.copy(objects.storage)
        return other

    def with_own_amounts(self) -> Self:
        """Return a state of the same pods with its own ``requested``, ``nonzero`` and ``pod_count``."""
        other = copy.copy(self)
        other.requested, other.nonzero = self.requested.copy(), self.nonzero.copy()
        other.pod_count, other.saturated = self.pod_count.copy(), set(self.saturated)
        return other

    def add_resources(self, resources: dict[str, int]) -> None:
        """Add rows for the new ones of ``resources``, which include all present ones."""
        if len(resources) > len(self.resources):
            self.requested = pad_rows(self.requested, len(resources))
        self.resources = resources

    def add_pod(self, pod: Pod, node: int) -> None:
        self.pods.add_pod(pod, node)
        self._account_pod(pod, node, 1)
        if pod.scheduling_group:
            self.grouped.setdefault(pod.scheduling_group, {})[pod.key] = None

    def remove_pod(self, key: str) -> Pod:
        """Remove a pod from its node and return it; raise KeyError if it is not bound."""
        pod, node = self.pods.remove_pod(key)
        self.placed.pop(key, None)
        self._account_pod(pod, node, -1)
        if node in self.saturated:
            self._sum_amounts(node)
        if pod.scheduling_group:
            del self.grouped[pod.scheduling_group][pod.key]
        return pod

    def _account_pod(self, pod: Pod, node: int, sign: int) -> None:
        """Add a pod's amounts, ports and volumes to its node, or with ``sign`` -1 subtract them."""
        self._add_amounts(pod, node, sign)
        self.pod_count[node] += sign
        self._set_ports(pod, node, in_use=sign > 0)
        if pod.volumes:
            self.volumes.account_pod(pod, node, sign)

    def _add_amounts(self, pod: Pod, node: int, sign: int) -> None:
        for name, amount in pod.occupied.items():
            if (row := self.resources.get(name)) is None:
                self.add_resources(with_rows(self.resources, (name,)))
                row = self.resources.get(name)
            if row is not None:
                self._add_amount(self.requested, row, node, sign * amount)
        cpu, memory = pod.occupied_nonzero
        self._add_amount(self.nonzero, 0, node, sign * cpu)
        self._add_amount(self.nonzero, 1, node, sign * memory)

    def _add_amount(self, sums: Ints, row: int, node: int, amount: int) -> None:
        total = int(sums[row, node]) + amount
        if total > INT64_MAX:
            if self.counting.saturating:
                total = INT64_MAX
                self.saturated.add(node)
            else:
                total = wrap_int64(total)
        sums[row, node] = total

    def _sum_amounts(self, node: int) -> None:
        """Add up the amounts of the node's pods anew, as `recomputeRequested` does."""
        self.saturated.discard(node)
        self.requested[:, node] = self.nonzero[:, node] = 0
        for pod in self.pods.pods_on(node):
            self._add_amounts(pod, node, 1)

    def _set_ports(self, pod: Pod, node: int, *, in_use: bool) -> None:
        # As in kube-scheduler's `HostPortInfo`, ports are a set: if two pods share a port, the first that leaves frees
        # it.
        for ip, protocol, port in pod.host_ports:
            ips = self.ports.setdefault((protocol, port), {})
            if ip not in ips:
                ips[ip] = np.zeros(len(self.pod_count), dtype=np.int64)
            ips[ip][node] = in_use

    def hold_ports(self, node: int) -> None:
        """Mark the host ports of all pods on the node as used again, after a trial pod was removed."""
        for pod in self.pods.pods_on(node):
            self._set_ports(pod, node, in_use=True)
