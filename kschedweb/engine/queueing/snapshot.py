"""The state that a scheduling cycle works on, and changes while it tries (`cache.Snapshot`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kschedweb.engine.queueing.cache import ACTIVE, CachedClusterQueue, KueueCache
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import Quantities, Requests, add_requests
from kschedweb.engine.queueing.quota.objects import ANY, ResourceFlavor, ResourceGroup
from kschedweb.engine.queueing.quota.quota_tree import CohortNode, QuotaForest, QuotaNode
from kschedweb.engine.queueing.topology.topology_assignments import HOSTNAME, domain_id
from kschedweb.engine.queueing.topology.topology_snapshot import TopologySnapshot
from kschedweb.engine.queueing.workloads.workload_info import TopologyUsage, Usage, WorkloadInfo

# Whether a usage fits: FITS, or what it lacks.
FITS, LACKS_QUOTA, LACKS_TOPOLOGY = "fits", "quota", "topology"


class ClusterQueueSnapshot(QuotaNode):
    """A ClusterQueue in a snapshot."""

    parent: CohortNode[ClusterQueueSnapshot] | None

    def __init__(self, cached: CachedClusterQueue) -> None:
        super().__init__(cached.name)
        self.copy_resources(cached)
        self.groups = cached.groups
        self.workloads = dict(cached.workloads)
        self.namespace_selector = cached.namespace_selector
        self.preemption = cached.preemption
        self.fungibility = cached.fungibility
        self.checks = cached.checks
        self.generation = cached.generation
        self.is_topology_only = cached.is_topology_only
        self.has_multikueue_check = bool(cached.multikueue_checks)
        self.provisioned_flavors = frozenset(
            flavor for check in cached.provisioning_checks for flavor in cached.checks[check]
        )
        # Flavor -> its topology.
        self.topologies: dict[str, TopologySnapshot] = {}

    @property
    def can_always_reclaim(self) -> bool:
        return self.preemption.reclaim == ANY

    def find_group(self, resource: str) -> ResourceGroup | None:
        return next((group for group in self.groups if resource in group.resources), None)

    def add(self, usage: Usage) -> None:
        for resource, amount in usage.quota.items():
            self.add_usage(resource, amount)
        self._count_topology(usage.topology, 1)

    def remove(self, usage: Usage) -> None:
        for resource, amount in usage.quota.items():
            self.remove_usage(resource, amount)
        self._count_topology(usage.topology, -1)

    def _count_topology(self, usage: TopologyUsage, sign: int) -> None:
        for flavor, domains in usage.items():
            if flavor in self.topologies:
                for domain in domains:
                    self.topologies[flavor].count_usage(domain_id(domain.values), domain.requests, sign)

    @contextmanager
    def with_usage(self, usage: Usage) -> Iterator[None]:
        """A context in which ``usage`` counts too."""
        self.add(usage)
        try:
            yield
        finally:
            self.remove(usage)

    @contextmanager
    def without_usage(self, usage: Usage) -> Iterator[None]:
        self.remove(usage)
        try:
            yield
        finally:
            self.add(usage)

    def check_fit(self, quota: Quantities, topology: TopologyUsage) -> str:
        """Return FITS, or what is missing for this usage (`Fits`)."""
        if any(self.available(resource) < amount for resource, amount in quota.items()):
            return LACKS_QUOTA
        if all(self.topologies[flavor].has_room(domains) for flavor, domains in topology.items()):
            return FITS
        return LACKS_TOPOLOGY


class QueueingSnapshot:
    """All active ClusterQueues, with their cohorts, flavors and topologies."""

    def __init__(self, cache: KueueCache) -> None:
        self.gates: FeatureGates = cache.gates
        self.flavors: dict[str, ResourceFlavor] = dict(cache.flavors)
        self.forest: QuotaForest[ClusterQueueSnapshot] = QuotaForest()
        # What candidates for preemption are ordered by, whoever preempts; by workload.
        self.candidate_ranks: dict[str, tuple[bool, int, float, str]] = {}
        self.inactive = frozenset(name for name, queue in cache.queues.items() if not _is_usable(cache, queue))
        self._copy_cohorts(cache)
        topologies = _create_topologies(cache)
        for name, cached in cache.queues.items():
            if name in self.inactive:
                continue
            queue = ClusterQueueSnapshot(cached)
            self.queues[name] = queue
            if cached.parent is not None:
                self.forest.move_queue(name, cached.parent.name)
            queue.topologies = {flavor: topologies[flavor] for flavor in cached.flavors if flavor in topologies}

    def _copy_cohorts(self, cache: KueueCache) -> None:
        cohorts = {name: cohort for name, cohort in cache.forest.cohorts.items() if not cohort.has_cycle}
        for name, cached in cohorts.items():
            # What inactive queues have and use is in their cohorts' sums.
            self.forest.add_cohort(name).copy_resources(cached)
        for name, cached in cohorts.items():
            if cached.parent is not None:
                self.forest.move_cohort(name, cached.parent.name)

    @property
    def queues(self) -> dict[str, ClusterQueueSnapshot]:
        return self.forest.queues

    @property
    def cohorts(self) -> dict[str, CohortNode[ClusterQueueSnapshot]]:
        return self.forest.cohorts

    def remove_workload(self, info: WorkloadInfo) -> None:
        queue = self.queues[info.cluster_queue]
        del queue.workloads[info.key]
        queue.remove(info.usage)

    def add_workload(self, info: WorkloadInfo) -> None:
        queue = self.queues[info.cluster_queue]
        queue.workloads[info.key] = info
        queue.add(info.usage)

    @contextmanager
    def without_usage_of(self, infos: Iterable[WorkloadInfo]) -> Iterator[None]:
        """A context in which the usage of ``infos`` does not count (`SimulateWorkloadUsageRemoval`)."""
        removed = list(infos)
        for info in removed:
            self.queues[info.cluster_queue].remove(info.usage)
        try:
            yield
        finally:
            for info in removed:
                self.queues[info.cluster_queue].add(info.usage)

    @contextmanager
    def without_workloads(self, infos: Iterable[WorkloadInfo]) -> Iterator[None]:
        """A context in which ``infos`` are not there (`SimulateWorkloadRemoval`)."""
        removed = list(infos)
        for info in removed:
            self.remove_workload(info)
        try:
            yield
        finally:
            for info in removed:
                self.add_workload(info)


def _is_usable(cache: KueueCache, queue: CachedClusterQueue) -> bool:
    """Return True if ``queue`` takes part in a cycle (`skipInactiveCQReason`)."""
    if queue.status != ACTIVE or (queue.parent is not None and queue.parent.has_cycle):
        return False
    return not ("TopologyAwareScheduling" in cache.gates and queue.topology_flavors and not queue.is_topology_synced)


def _create_topologies(cache: KueueCache) -> dict[str, TopologySnapshot]:
    """Return the topology of each flavor that has one, with what is used of it."""
    if "TopologyAwareScheduling" not in cache.gates:
        return {}
    flavors = [name for name in cache.topology_flavors if cache.find_topology(name) is not None]
    usage_by_flavor = {name: _sum_domain_usage(cache, name) for name in flavors}
    # Flavors share their nodes, so a node's usage counts in all of them (gate TASHandleOverlappingFlavors).
    shared: dict[str, Requests] = {}
    if "TASHandleOverlappingFlavors" in cache.gates:
        for name in flavors:
            if _has_hostnames(cache, name):
                for domain, requests in usage_by_flavor[name].items():
                    shared[domain] = add_requests(shared.get(domain, {}), requests)
    topologies = {}
    for name in flavors:
        topology = cache.find_topology(name)
        assert topology is not None
        snapshot = TopologySnapshot(topology, cache.topology_flavors[name], cache.nodes.values(), cache.gates)
        is_shared = "TASHandleOverlappingFlavors" in cache.gates and _has_hostnames(cache, name)
        for domain, requests in (shared if is_shared else usage_by_flavor[name]).items():
            snapshot.count_usage(domain, requests, 1)
        for node, requests in cache.other_pods.values():
            snapshot.take_capacity(node, requests)
        topologies[name] = snapshot
    return topologies


def _has_hostnames(cache: KueueCache, flavor: str) -> bool:
    topology = cache.find_topology(flavor)
    return topology is not None and bool(topology.levels) and topology.levels[-1] == HOSTNAME


def _sum_domain_usage(cache: KueueCache, flavor: str) -> dict[str, Requests]:
    """Return by domain what workloads with quota use of a flavor's topology."""
    totals: dict[str, Requests] = {}
    for queue in cache.queues.values():
        for info in queue.workloads.values():
            for usage in info.usage.topology.get(flavor, ()):
                domain = domain_id(usage.values)
                totals[domain] = add_requests(totals.get(domain, {}), usage.requests)
    return totals
