"""Predicates about free room on a node: resources, host ports, disks."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope, Verdicts
from kschedweb.engine.framework.status import unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.plugins.nodeports import nodes_with_port_conflict
from kschedweb.engine.plugins.noderesourcesfit import PODS, Failure, combine_failures
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.releases.classic.objects import BASIC, get_requests
from kschedweb.engine.releases.classic.predicates.node import HostName, MatchNodeSelector, NodePredicate, make_verdicts
from kschedweb.engine.state.columns import Mask, Rows


class PodFitsResources:
    """A predicate that rejects nodes without room for another pod, or for the pod's requests.

    A pod with any request is rejected where CPU, memory or ephemeral storage is overcommitted already.
    """

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name
        self.ignored: frozenset[str] = argument.get("ignored", frozenset())  # resources that extenders manage

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.ROOM

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return _combine_failures(cycle, rows, self.find_failures(cycle, rows))

    def find_failures(self, cycle: Cycle, rows: Rows) -> list[Failure]:
        """Return each resource that may be lacking, with a mask of the nodes of ``rows`` where it is."""
        snapshot, requests = cycle.snapshot, get_requests(cycle.pod)
        failures = [Failure("Insufficient pods", snapshot.pod_count[rows] >= snapshot.pod_limit[rows], resource=PODS)]
        if requests.is_empty:
            return failures
        # BASIC resources are checked even if the pod requests none of them, as 1.13 does.
        names = [
            *BASIC,
            *sorted(name for name in requests.requests if name not in BASIC and not self._is_ignored(name)),
        ]
        for name in names:
            used = snapshot.resource_row(snapshot.requested, name)[rows] + requests.requests.get(name, 0)
            short = snapshot.resource_row(snapshot.allocatable, name)[rows] < used
            failures.append(Failure(f"Insufficient {name}", short, resource=name))
        return failures

    def _is_ignored(self, name: str) -> bool:
        return name in self.ignored and is_extended(name)


class PodFitsHostPorts:
    """A predicate that rejects nodes where a host port that the pod asks for is in use."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.PODS if pod.host_ports else PluginScope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return make_verdicts(nodes_with_port_conflict(cycle.snapshot, cycle.pod.host_ports)[rows], reasons.HOST_PORTS)


class GeneralPredicates(PodFitsResources):
    """PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector in one, with the reasons of all of them."""

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self._nodes: list[NodePredicate] = [HostName("HostName", {}), MatchNodeSelector("MatchNodeSelector", {})]

    def scope(self, pod: Pod) -> PluginScope:
        particular = pod.node_name or pod.host_ports or pod.node_selector or pod.node_affinity.required is not None
        return PluginScope.PODS if particular else PluginScope.ROOM

    def find_failures(self, cycle: Cycle, rows: Rows) -> list[Failure]:
        snapshot, pod = cycle.snapshot, cycle.pod
        failures = super().find_failures(cycle, rows)
        if self.scope(pod) is PluginScope.ROOM:
            return failures
        host, selector = cycle.memoize(
            self.name, lambda: [predicate.find_rejected(snapshot, pod) for predicate in self._nodes]
        )
        ports = nodes_with_port_conflict(snapshot, pod.host_ports) if pod.host_ports else None
        wrong = ((reasons.HOST_NAME, host), (reasons.HOST_PORTS, ports), (reasons.SELECTOR, selector))
        return [*failures, *(Failure(reason, mask[rows]) for reason, mask in wrong if mask is not None)]


class NoDiskConflict:
    """A predicate that rejects nodes where another pod mounts the same disk in a way that cannot be shared."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.PODS if any(volume.disk is not None for volume in pod.volumes) else PluginScope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        disks = [volume.disk for volume in cycle.pod.volumes if volume.disk is not None]
        if not disks:
            return Verdicts.uniform(cycle.num_rows(rows))
        mask: Mask = np.zeros(len(cycle.snapshot), dtype=np.bool_)
        for disk in disks:
            mask |= cycle.snapshot.volume_use.disk_conflicts(disk)
        return make_verdicts(mask[rows], reasons.DISK_CONFLICT)


def _combine_failures(cycle: Cycle, rows: Rows, failures: list[Failure]) -> Verdicts:
    failures = [failure for failure in failures if failure.short.any()]
    if len(failures) > 1:
        return combine_failures(failures)
    if not failures:
        return Verdicts.uniform(cycle.num_rows(rows))
    return Verdicts.from_mask(failures[0].short, unschedulable(failures[0].reason, fact=failures[0].resource))
