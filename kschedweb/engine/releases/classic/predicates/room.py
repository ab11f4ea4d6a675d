"""Predicates about free room on a node: resources, host ports, disks."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, Scope, Verdicts
from kschedweb.engine.framework.status import unschedulable
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.plugins.nodeports import taken
from kschedweb.engine.plugins.noderesourcesfit import PODS, Failure, combined
from kschedweb.engine.releases.classic import words
from kschedweb.engine.releases.classic.objects import BASIC, asked
from kschedweb.engine.releases.classic.predicates.node import HostName, MatchNodeSelector, NodePredicate, verdicts
from kschedweb.engine.state.columns import Mask, Rows


class PodFitsResources:
    """Rejects nodes without room for another pod, or for the pod's requests.

    A pod with any request is rejected where CPU, memory or ephemeral storage is overcommitted already.
    """

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name
        self.ignored: frozenset[str] = argument.get("ignored", frozenset())  # resources that extenders manage

    def scope(self, pod: Pod) -> Scope:
        return Scope.ROOM

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return _verdicts(cycle, rows, self.failures(cycle, rows))

    def failures(self, cycle: Cycle, rows: Rows) -> list[Failure]:
        """Each resource that may be lacking, with the nodes of ``rows`` where it is."""
        snapshot, wanted = cycle.snapshot, asked(cycle.pod)
        found = [Failure("Insufficient pods", snapshot.pod_count[rows] >= snapshot.pod_limit[rows], about=PODS)]
        if wanted.nothing:
            return found
        names = [*BASIC, *sorted(name for name in wanted.requests if name not in BASIC and not self._ignores(name))]
        for name in names:
            used = snapshot.amounts(snapshot.requested, name)[rows] + wanted.requests.get(name, 0)
            short = snapshot.amounts(snapshot.allocatable, name)[rows] < used
            found.append(Failure(f"Insufficient {name}", short, about=name))
        return found

    def _ignores(self, name: str) -> bool:
        return name in self.ignored and is_extended(name)


class PodFitsHostPorts:
    """Rejects nodes where a host port that the pod asks for is taken."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> Scope:
        return Scope.PODS if pod.host_ports else Scope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return verdicts(taken(cycle.snapshot, cycle.pod.host_ports)[rows], words.HOST_PORTS)


class GeneralPredicates(PodFitsResources):
    """PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector in one, with the reasons of all of them."""

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self._nodes: list[NodePredicate] = [HostName("HostName", {}), MatchNodeSelector("MatchNodeSelector", {})]

    def scope(self, pod: Pod) -> Scope:
        particular = pod.node_name or pod.host_ports or pod.node_selector or pod.node_affinity.required is not None
        return Scope.PODS if particular else Scope.ROOM

    def failures(self, cycle: Cycle, rows: Rows) -> list[Failure]:
        snapshot, pod = cycle.snapshot, cycle.pod
        found = super().failures(cycle, rows)
        if self.scope(pod) is Scope.ROOM:
            return found
        host, selector = cycle.keep(self.name, lambda: [one.rejects(snapshot, pod) for one in self._nodes])
        ports = taken(snapshot, pod.host_ports) if pod.host_ports else None
        wrong = ((words.HOST_NAME, host), (words.HOST_PORTS, ports), (words.SELECTOR, selector))
        return [*found, *(Failure(reason, mask[rows]) for reason, mask in wrong if mask is not None)]


class NoDiskConflict:
    """Rejects nodes where another pod mounts the same disk in a way that cannot be shared."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> Scope:
        return Scope.PODS if any(volume.disk is not None for volume in pod.volumes) else Scope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        disks = [volume.disk for volume in cycle.pod.volumes if volume.disk is not None]
        if not disks:
            return Verdicts.uniform(cycle.size(rows))
        mask: Mask = np.zeros(len(cycle.snapshot), dtype=np.bool_)
        for disk in disks:
            mask |= cycle.snapshot.volume_use.disk_conflicts(disk)
        return verdicts(mask[rows], words.DISK_CONFLICT)


def _verdicts(cycle: Cycle, rows: Rows, failures: list[Failure]) -> Verdicts:
    failures = [failure for failure in failures if failure.short.any()]
    if len(failures) > 1:
        return combined(failures)
    if not failures:
        return Verdicts.uniform(cycle.size(rows))
    return Verdicts.where(failures[0].short, unschedulable(failures[0].reason, about=failures[0].about))
