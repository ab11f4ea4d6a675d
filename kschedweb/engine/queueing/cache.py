"""The state of Kueue's scheduler between cycles: quotas, flavors, nodes, and the workloads that have quota."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kschedweb.engine.objects.labels import Labels, Selector
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import PODS, FlavorResource, Requests, add_amounts, add_requests
from kschedweb.engine.queueing.quota.objects import (
    MULTIKUEUE_CONTROLLER,
    PROVISIONING_CONTROLLER,
    STOP_NONE,
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    PreemptionPolicy,
    ResourceFlavor,
    ResourceGroup,
    Topology,
    TopologyNode,
)
from kschedweb.engine.queueing.quota.quota_tree import CohortCycleError, CohortNode, QuotaForest, QuotaNode
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.workload import Workload
from kschedweb.engine.queueing.workloads.workload_info import InfoFactory, WorkloadInfo

ACTIVE, PENDING = "active", "pending"


class QueueReadiness(NamedTuple):
    """The content of a ClusterQueue's Active condition."""

    is_active: bool
    reason: str
    message: str


READY = QueueReadiness(True, "Ready", "Can admit new workloads")


class CachedClusterQueue(QuotaNode):
    """A ClusterQueue with the workloads that have quota of it (`clusterQueue`)."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.groups: tuple[ResourceGroup, ...] = ()
        self.workloads: dict[str, WorkloadInfo] = {}
        # Keys of workloads whose pods are not ready.
        self.not_ready: set[str] = set()
        # None for a queue that was never read, as its cohorts are a ring.
        self.namespace_selector: Selector | None = None
        self.preemption = PreemptionPolicy()
        self.fungibility = FlavorFungibility()
        self.checks: dict[str, frozenset[str]] = {}
        # ACTIVE, PENDING, or "" for a queue that was never read.
        self.status = ""
        self.is_stopped = False
        # It grows whenever more may fit (`AllocatableResourceGeneration`).
        self.generation = 0
        self.missing_flavors: list[str] = []
        # Flavors with a topology -> its name.
        self.topology_flavors: dict[str, str] = {}
        self.is_topology_synced = False
        self.missing_checks: list[str] = []
        self.inactive_checks: list[str] = []
        self.multikueue_checks: list[str] = []
        self.provisioning_checks: list[str] = []
        self.multikueue_checks_by_flavor: list[str] = []

    @property
    def flavors(self) -> frozenset[str]:
        return frozenset(flavor for group in self.groups for flavor in group.flavors)

    @property
    def is_topology_only(self) -> bool:
        return all(flavor in self.topology_flavors for group in self.groups for flavor in group.flavors)

    def count_usage(self, resource: FlavorResource, amount: int) -> None:
        """Count ``amount``, negative for what is given back, here and in the cohorts above."""
        if self.parent is not None and self.parent.has_cycle:
            # Kueue's own code goes round such a ring until its stack is full.
            self.usage[resource] = add_amounts(self.used(resource), amount)
        elif amount >= 0:
            self.add_usage(resource, amount)
        else:
            self.remove_usage(resource, -amount)

    def reset_subtree_quota(self) -> None:
        self.generation += 1
        self.subtree_quota = {resource: quota.nominal for resource, quota in self.quotas.items()}


class KueueCache:
    """Quotas, flavors, topologies, nodes, and workloads with quota (`cache.Cache`)."""

    def __init__(self, factory: InfoFactory, *, tracks_pods_ready: bool) -> None:
        self.factory = factory
        self.tracks_pods_ready = tracks_pods_ready
        self.forest: QuotaForest[CachedClusterQueue] = QuotaForest()
        self.flavors: dict[str, ResourceFlavor] = {}
        self.checks: dict[str, AdmissionCheck] = {}
        # The first form of each: topologies and flavors with one are immutable.
        self.topologies: dict[str, Topology] = {}
        self.topology_flavors: dict[str, ResourceFlavor] = {}
        self.nodes: dict[str, TopologyNode] = {}
        # What pods outside of topology-aware scheduling take: namespace/name -> (node, requests).
        self.other_pods: dict[str, tuple[str, Requests]] = {}
        # Workload -> the queue that counts it.
        self._queue_by_workload: dict[str, str] = {}

    @property
    def gates(self) -> FeatureGates:
        return self.factory.gates

    @property
    def queues(self) -> dict[str, CachedClusterQueue]:
        return self.forest.queues

    def is_queue_active(self, name: str) -> bool:
        return name in self.queues and self.queues[name].status == ACTIVE

    # Flavors, checks, topologies, nodes

    def set_flavor(self, flavor: ResourceFlavor) -> list[str]:
        """Take in ``flavor``; return the queues that became active."""
        self.flavors[flavor.name] = flavor
        if flavor.topology is not None:
            self.topology_flavors.setdefault(flavor.name, flavor)
        return self._update_queues()

    def set_topology(self, topology: Topology) -> list[str]:
        self.topologies.setdefault(topology.name, topology)
        return self._update_queues()

    def set_check(self, check: AdmissionCheck) -> list[str]:
        self.checks[check.name] = check
        return self._update_queues()

    def set_node(self, node: TopologyNode) -> None:
        if node.is_usable:
            self.nodes[node.name] = node
        else:
            self.nodes.pop(node.name, None)

    def set_other_pod(self, key: str, node: str, requests: Requests) -> None:
        self.other_pods[key] = (node, add_requests(requests, {PODS: 1}))

    def find_topology(self, flavor: str) -> Topology | None:
        """Return the topology of a flavor, if both are there (`tasCache.Get`)."""
        if flavor not in self.topology_flavors:
            return None
        return self.topologies.get(self.topology_flavors[flavor].topology or "")

    def queues_using(self, flavor: str) -> list[str]:
        return [name for name, queue in self.queues.items() if flavor in queue.flavors]

    def queues_matching(self, labels: Labels) -> list[str]:
        """Return the queues that take workloads of a namespace with these labels."""
        return [
            name
            for name, queue in self.queues.items()
            if queue.namespace_selector is not None and queue.namespace_selector.matches(labels)
        ]

    def _update_queues(self) -> list[str]:
        activated = []
        for name, queue in self.queues.items():
            status = queue.status
            self._update_flavors(queue)
            self._update_checks(queue)
            if status == PENDING and queue.status == ACTIVE:
                activated.append(name)
        return activated

    # Queues and cohorts

    def set_cohort(self, cohort: Cohort) -> None:
        """Take in ``cohort``; raise CohortCycleError."""
        node = self.forest.add_cohort(cohort.name)
        former = node.parent
        self.forest.move_cohort(cohort.name, cohort.parent)
        node.fair_weight, node.quotas = cohort.fair_weight, cohort.quotas
        if former is not None and former is not node.parent:
            self._update_tree_without_cycle(former)
        self._update_tree(node)
        # Kueue does it twice, which shows in the generation of its queues.
        self._update_tree_without_cycle(node)

    def set_cluster_queue(self, spec: ClusterQueue, workloads: Iterable[Workload]) -> None:
        """Take in a ClusterQueue, with the ``workloads`` that have quota of a new one; raise CohortCycleError."""
        is_new = spec.name not in self.queues
        if is_new:
            self.queues[spec.name] = CachedClusterQueue(spec.name)
        queue = self.queues[spec.name]
        former = queue.parent
        self.forest.move_queue(spec.name, spec.cohort)
        self._update_queue(queue, spec, None if is_new else former)
        if is_new:
            for workload in workloads:
                if workload.is_holding_quota:
                    self.set_workload(self.factory.create(workload))

    def _update_queue(
        self, queue: CachedClusterQueue, spec: ClusterQueue, former: CohortNode[CachedClusterQueue] | None
    ) -> None:
        """Take over ``spec`` (`updateClusterQueue`)."""
        groups, quotas = queue.groups, queue.quotas
        queue.groups, queue.quotas = spec.groups, spec.quotas
        if queue.generation == 0 or groups != spec.groups or quotas != spec.quotas or former is not queue.parent:
            if former is not None and former is not queue.parent:
                self._update_tree_without_cycle(former)
            if queue.parent is not None:
                self._update_tree(queue.parent)
            else:
                queue.reset_subtree_quota()
        queue.namespace_selector = spec.namespace_selector
        queue.is_stopped = spec.stop_policy != STOP_NONE
        queue.checks, queue.preemption = spec.checks, spec.preemption
        self._update_flavors(queue)
        self._update_checks(queue)
        queue.fungibility, queue.fair_weight = spec.fungibility, spec.fair_weight

    def _update_tree(self, cohort: CohortNode[CachedClusterQueue]) -> None:
        if cohort.has_cycle:
            raise CohortCycleError(f"cohort {cohort.name} is below a ring of cohorts")
        accumulate_cohort(cohort.root)

    def _update_tree_without_cycle(self, cohort: CohortNode[CachedClusterQueue]) -> None:
        if not cohort.has_cycle:
            accumulate_cohort(cohort.root)

    def _update_flavors(self, queue: CachedClusterQueue) -> None:
        """Look which of its flavors are there, and which have a topology (`updateFlavorMetadata`)."""
        former = queue.topology_flavors
        queue.missing_flavors, queue.topology_flavors = [], {}
        for name in (name for group in queue.groups for name in group.flavors):
            flavor = self.flavors.get(name)
            if flavor is None:
                queue.missing_flavors.append(name)
            elif flavor.topology is not None:
                if name not in former:
                    queue.is_topology_synced = False
                queue.topology_flavors[name] = flavor.topology
        self._update_status(queue)

    def _update_checks(self, queue: CachedClusterQueue) -> None:
        """Sort its admission checks by what is wrong with them (`updateWithAdmissionChecks`)."""
        names = sorted(queue.checks)
        present = [name for name in names if name in self.checks]
        by_controller = {name: self.checks[name].controller for name in present}
        queue.missing_checks = [name for name in names if name not in self.checks]
        queue.inactive_checks = [name for name in present if not self.checks[name].is_active]
        queue.multikueue_checks = [name for name in present if by_controller[name] == MULTIKUEUE_CONTROLLER]
        queue.provisioning_checks = [name for name in present if by_controller[name] == PROVISIONING_CONTROLLER]
        queue.multikueue_checks_by_flavor = [
            name for name in queue.multikueue_checks if queue.checks[name] != queue.flavors
        ]
        # Kueue looks at the status only where the checks changed, which comes to the same.
        self._update_status(queue)

    def _update_status(self, queue: CachedClusterQueue) -> None:
        self._sync_topology(queue)
        is_pending = (
            queue.is_stopped
            or queue.missing_flavors
            or queue.missing_checks
            or queue.inactive_checks
            or (queue.topology_flavors and not queue.multikueue_checks and not self._has_topologies(queue))
            or len(queue.multikueue_checks) > 1
            or queue.multikueue_checks_by_flavor
            or (queue.multikueue_checks and queue.provisioning_checks)
        )
        queue.status = PENDING if is_pending else ACTIVE

    def _has_topologies(self, queue: CachedClusterQueue) -> bool:
        return all(self.find_topology(flavor) is not None for flavor in queue.topology_flavors)

    def _sync_topology(self, queue: CachedClusterQueue) -> None:
        """Count its workloads again once all its topologies are there (`ensureTASIsSynced`)."""
        if "TopologyAwareScheduling" not in self.gates:
            return
        if not queue.topology_flavors or not self._has_topologies(queue):
            queue.is_topology_synced = False
        elif not queue.is_topology_synced:
            queue.generation += len(queue.workloads)
            queue.is_topology_synced = True

    def explain_readiness(self, name: str) -> QueueReadiness:
        """Return what the Active condition of a ClusterQueue says (`ClusterQueueReadiness`)."""
        queue = self.queues.get(name)
        if queue is None:
            return QueueReadiness(False, "NotFound", "ClusterQueue not found")
        if queue.status == ACTIVE:
            return READY
        if queue.status != PENDING:
            # A queue below a ring of cohorts is not active, and its reason says Ready all the same.
            return QueueReadiness(False, READY.reason, READY.message)
        causes = list(self._find_causes(queue))
        if not causes:
            return QueueReadiness(False, "Unknown", "Can't admit new workloads.")
        words = ", ".join(message for _, message in causes)
        return QueueReadiness(False, causes[0][0], kinds.truncate_condition(f"Can't admit new workloads: {words}."))

    def _find_causes(self, queue: CachedClusterQueue) -> Iterable[tuple[str, str]]:
        """Yield (reason, words) of all that keeps ``queue`` from being active (`inactiveReason`)."""
        if queue.is_stopped:
            yield "Stopped", "is stopped"
        if queue.missing_flavors:
            yield "FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(queue.missing_flavors)}"
        if queue.missing_checks:
            yield "AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(queue.missing_checks)}"
        if queue.inactive_checks:
            yield "AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(queue.inactive_checks)}"
        checks = ",".join(queue.multikueue_checks)
        if len(queue.multikueue_checks) > 1:
            words = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue"
            yield "MultipleMultiKueueAdmissionChecks", f"{words}, found: {checks}"
        if queue.multikueue_checks_by_flavor:
            words = "Cannot specify MultiKueue AdmissionCheck per flavor"
            names = ",".join(queue.multikueue_checks_by_flavor)
            yield "MultiKueueAdmissionCheckAppliedPerFlavor", f"{words}, found: {names}"
        if queue.multikueue_checks and queue.provisioning_checks:
            words = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together"
            yield (
                "MultiKueueWithProvisioningRequest",
                f"{words}, found: {checks}, {','.join(queue.provisioning_checks)}",
            )
        for flavor, topology in queue.topology_flavors.items():
            if self.find_topology(flavor) is None:
                yield "TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{flavor}"'

    # Workloads

    def set_workload(self, info: WorkloadInfo) -> bool:
        """Count a workload that has quota, or no longer one that has none; return whether it counts."""
        workload = info.workload
        assigned = self._queue_by_workload.get(workload.key)
        if not workload.is_holding_quota:
            self.delete_workload(workload.key)
            return False
        queue = self.queues.get(info.cluster_queue)
        if queue is None:
            return False
        if assigned is not None and assigned != queue.name:
            self._remove(self.queues.get(assigned), workload.key)
        self._queue_by_workload[workload.key] = queue.name
        self._remove(queue, workload.key)
        queue.workloads[workload.key] = info
        for resource, amount in info.usage.quota.items():
            queue.count_usage(resource, amount)
        if self.tracks_pods_ready and not workload.is_condition_true(kinds.PODS_READY):
            queue.not_ready.add(workload.key)
        return True

    def delete_workload(self, key: str) -> None:
        name = self._queue_by_workload.pop(key, None)
        if name is not None:
            self._remove(self.queues.get(name), key)

    def _remove(self, queue: CachedClusterQueue | None, key: str) -> None:
        if queue is None or key not in queue.workloads:
            return
        for resource, amount in queue.workloads[key].usage.quota.items():
            queue.count_usage(resource, -amount)
        queue.not_ready.discard(key)
        # More may fit now.
        queue.generation += 1
        del queue.workloads[key]

    def has_workload(self, info: WorkloadInfo) -> bool:
        return info.cluster_queue in self.queues and info.key in self.queues[info.cluster_queue].workloads

    def are_all_pods_ready(self) -> bool:
        return not any(queue.not_ready for queue in self.queues.values())


def accumulate_cohort(cohort: CohortNode[CachedClusterQueue]) -> None:
    """Sum up quota and usage of a cohort's children (`updateCohortResourceNode`)."""
    cohort.subtree_quota = {resource: quota.nominal for resource, quota in cohort.quotas.items()}
    cohort.usage = {}
    for child in cohort.child_cohorts.values():
        accumulate_cohort(child)
        cohort.add_child(child)
    for queue in cohort.child_queues.values():
        queue.reset_subtree_quota()
        cohort.add_child(queue)
