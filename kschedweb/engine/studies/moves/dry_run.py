"""Find where evicted pods land: kube-scheduler's own cycle places replacements in the order of evictions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Set
from dataclasses import field

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster
from kschedweb.engine.rebalancing.cluster_usage import ClusterUsage, workload_name
from kschedweb.engine.rebalancing.cycle import CycleResult, run_cycle
from kschedweb.engine.rebalancing.evictions import Eviction
from kschedweb.engine.rebalancing.loading import load_policy
from kschedweb.engine.rebalancing.pods import PodView, read_pod_view, renew_pod
from kschedweb.engine.rebalancing.scenario import DescribedCluster
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.moves.balance import ClusterBalance, compute_balance_of, find_busy_nodes
from kschedweb.engine.values import dataclass

# Fates of an evicted pod.
LANDS, RETURNS, UNFIT, NOT_REPLACED = "lands", "returns", "unfit", "gone"
NO_CONTROLLER = "No controller makes another pod in its place."
ENDED = "The pod has ended, and takes no room."
NO_USE = "Real use of this cluster is not known: gains go by requests alone."
NO_POD_USE = "The use of some moved pods is not known: they count as if they used nothing where they go."
BY_SHARE = "The query of Prometheus is not asked: the share of each node's CPU that is used stands for its answer."
# Gets a pod, its new node, and the nodes from which its plugin evicts pods.
Watch = Callable[[Pod, str, Set[str]], None]
# Gets the current step, its progress and its length; may raise to end the work.
Check = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Landing:
    """The fate of one evicted pod."""

    pod: str
    workload: str
    # Its node.
    source: str
    # The plugin that evicted it, and its profile.
    plugin: str
    profile: str
    # LANDS, RETURNS, UNFIT or NOT_REPLACED.
    fate: str
    # Node of its replacement; "" for none.
    target: str = ""
    # Reason why there is no replacement, or no node for it.
    message: str = ""


@dataclass(frozen=True, slots=True)
class BudgetChange:
    r"""A disruption budget that evictions asked: the disruptions that it allows before and after\."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class DisturbedWorkload:
    """A workload of which pods are evicted."""

    workload: str
    # All its pods, those that are evicted, and those of them that find no node.
    pods: int
    evicted: int
    unfit: int


@dataclass(frozen=True, slots=True)
class DryRun:
    """A descheduling cycle and its consequences."""

    cycle: CycleResult = field(repr=False)
    landings: tuple[Landing, ...]
    before: ClusterBalance
    after: ClusterBalance
    # Nodes that lose all work, and nodes that get their first.
    emptied: tuple[str, ...]
    filled: tuple[str, ...]
    budgets: tuple[BudgetChange, ...]
    disturbed: tuple[DisturbedWorkload, ...]
    notes: tuple[str, ...]

    def count(self, fate: str) -> int:
        return sum(landing.fate == fate for landing in self.landings)


def bound_pods(snapshot: Snapshot) -> Iterable[Pod]:
    """Return the pods of a snapshot."""
    return (pod for pod in snapshot.pods.pods if pod is not None)


class DescheduledCluster:
    """A cluster in which cycles of the descheduler and of kube-scheduler alternate.

    The scheduler sees ``snapshot``, which is taken over and changes. The descheduler sees ``described``, which is made
    from the same objects. A replacement keeps its predecessor's name, so that a chain of replacements counts as one
    pod.
    """

    def __init__(
        self,
        described: DescribedCluster,
        snapshot: Snapshot,
        configuration: Configuration,
        table: PriceTable | None = None,
        check: Check = lambda *progress: None,
    ) -> None:
        self.snapshot = snapshot
        self.scheduler = Scheduler.from_configuration(snapshot, configuration)
        self.use = ClusterUsage(snapshot)
        self.rates = Rates.from_table(table, [node.labels for node in snapshot.nodes])
        # Pods that earlier cycles evicted, and that still have no node.
        self.waiting: list[Pod] = []
        self._described, self._check = described, check
        # The pods as the descheduler sees them, by key.
        self._views = {pod.key: pod for pod in described.pods}
        self._watched: Watch | None = None

    def watch_landings(self, landed: Watch) -> None:
        """Call ``landed`` with each replacement before it is put on its node."""
        self._watched = landed

    def run(self, document: str | Json, now: float) -> DryRun:
        """Run one cycle at ``now`` (seconds of the epoch), and place its pods.

        Raise PolicyRefused and SelectorError, as ``run_cycle`` does.
        """
        policy = load_policy(document, self._described.classes)
        notes = [] if self.use.is_known else [NO_USE]
        if policy.queries_prometheus and self.use.is_known:
            notes.append(BY_SHARE)
        asks = policy.collects_metrics or policy.queries_prometheus
        metrics = self.use.to_metrics(pod_view.pod for pod_view in self._views.values()) if asks else None
        self._check("Running the descheduler", 0, 0)
        sizes = self._workload_sizes()
        allowed = {budget.key: budget.budget.allowed for budget in self._described.budgets}
        busy = find_busy_nodes(self.snapshot)
        # Taken before the cycle, since placing changes the snapshot.
        before = compute_balance_of(self.snapshot, self.use, self.rates, busy)
        cycle = run_cycle(policy, self._build_cluster(), now, metrics)
        self.snapshot.now = now
        landings, whole = self._place_evicted(cycle.evicted, now)
        self.use.update_watermarks(now)
        after = find_busy_nodes(self.snapshot)
        names = self.snapshot.names
        if self.use.is_known and not whole:
            notes.append(NO_POD_USE)
        return DryRun(
            cycle=cycle,
            landings=tuple(landings),
            before=before,
            after=compute_balance_of(self.snapshot, self.use, self.rates, after),
            emptied=tuple(name for name, old, new in zip(names, busy, after, strict=True) if old and not new),
            filled=tuple(name for name, old, new in zip(names, busy, after, strict=True) if new and not old),
            budgets=tuple(
                BudgetChange(name, allowed[name], remaining) for name, remaining in sorted(cycle.remaining.items())
            ),
            disturbed=_list_disturbed(landings, sizes),
            notes=tuple(notes),
        )

    def _workload_sizes(self) -> Counter[str]:
        """Return the number of pods of each workload."""
        counts, names = Counter[str](), dict[Hashable, str]()
        for pod_view in self._views.values():
            if not pod_view.is_done:
                key = pod_view.namespace, pod_view.pod.controller or pod_view.name
                if key not in names:
                    names[key] = workload_name(pod_view.pod, self.snapshot)
                counts[names[key]] += 1
        return counts

    def _build_cluster(self) -> DeschedulerCluster:
        described = self._described
        cluster = DeschedulerCluster(list(described.nodes), described.budgets, described.namespaces, described.claims)
        cluster.add_pods(self._views.values())
        return cluster

    def _place_evicted(self, evicted: Iterable[Eviction], now: float) -> tuple[list[Landing], bool]:
        """Return the landings in the order of the evictions, and whether the use of all of them is known."""
        # All evicted pods leave first, as the descheduler evicts them within one cycle.
        removed, whole = [(eviction, self._remove_pod(eviction.pod)) for eviction in evicted], True
        waiting, self.waiting = self.waiting, []
        for pod in waiting:
            target, _ = self._place_pod(pod, now)
            self.use.move_pod(pod, "", target)
        landings, sources = [], defaultdict[str, set[str]](set)
        for eviction, _ in removed:
            sources[eviction.plugin].add(eviction.node)
        for number, (eviction, (pod, fate)) in enumerate(removed):
            self._check("Placing evicted pods", number, len(removed))
            message = {"": "", NOT_REPLACED: NO_CONTROLLER if pod.controller is None else ENDED}[fate]
            target = ""
            if not fate:
                target, message = self._place_pod(pod, now, sources[eviction.plugin])
                fate = UNFIT if not target else RETURNS if target == eviction.node else LANDS
            whole = self.use.move_pod(pod, eviction.node, target) and whole
            landings.append(
                Landing(
                    eviction.pod,
                    workload_name(pod, self.snapshot),
                    eviction.node,
                    eviction.plugin,
                    eviction.profile,
                    fate,
                    target,
                    message,
                )
            )
        return landings, whole

    def _remove_pod(self, key: str) -> tuple[Pod, str]:
        """Remove an evicted pod; return it without its node, and NOT_REPLACED if nothing replaces it."""
        pod_view = self._views[key]
        in_snapshot = key in self.snapshot.pods.slots
        pod = self.scheduler.evict_pod(key) if in_snapshot else pod_view.pod
        if not in_snapshot or pod.controller is None:
            del self._views[key]
            return pod.on(""), NOT_REPLACED
        return pod.on(""), ""

    def _place_pod(self, pod: Pod, now: float, sources: Set[str] = frozenset()) -> tuple[str, str]:
        """Place the replacement, and return its node and the scheduler's message."""
        pod, _ = self.scheduler.create_claims(pod)
        placement = self.scheduler.find(pod)
        if placement.node:
            if self._watched is not None:
                self._watched(pod, placement.node, sources)
            placement = self.scheduler.bind_found(pod, placement)
        if not placement.node:
            self.waiting.append(pod)
        self._views[pod.key] = self._view_pod(pod, placement.node, now)
        return placement.node, placement.message

    def _view_pod(self, pod: Pod, node: str, now: float) -> PodView:
        return read_pod_view(renew_pod(pod.raw, node, now, now), self._described.requests_by_template)


def _list_disturbed(landings: Iterable[Landing], sizes: Counter[str]) -> tuple[DisturbedWorkload, ...]:
    """Return the workloads, those with most evictions first."""
    evicted, unfit = Counter[str](), Counter[str]()
    for landing in landings:
        evicted[landing.workload] += 1
        unfit[landing.workload] += landing.fate == UNFIT
    ordered = sorted(evicted, key=lambda name: (-evicted[name], name))
    return tuple(
        DisturbedWorkload(name, max(sizes[name], evicted[name]), evicted[name], unfit[name]) for name in ordered
    )
