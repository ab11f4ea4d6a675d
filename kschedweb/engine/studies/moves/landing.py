"""Where evicted pods land: kube-scheduler's own cycle places their replacements in the order of the evictions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Set
from dataclasses import field

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.table import PriceTable
from kschedweb.engine.rebalancing.cluster import Cluster
from kschedweb.engine.rebalancing.cycle import CycleResult, run_cycle
from kschedweb.engine.rebalancing.evicting import Eviction
from kschedweb.engine.rebalancing.loading import load_policy
from kschedweb.engine.rebalancing.pods import PodView, renewed, view
from kschedweb.engine.rebalancing.scenario import Described
from kschedweb.engine.rebalancing.use import Use, workload
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.moves.standing import Standing, at_work, standing_of
from kschedweb.engine.values import dataclass

LANDS, RETURNS, UNFIT, GONE = "lands", "returns", "unfit", "gone"  # what becomes of an evicted pod
NO_CONTROLLER = "No controller makes another pod in its place."
ENDED = "The pod has ended, and takes no room."
NO_USE = "Real use of this cluster is not known: gains go by requests alone."
NO_POD_USE = "The use of some moved pods is not known: they count as if they used nothing where they go."
BY_SHARE = "The query of Prometheus is not asked: the share of each node's CPU that is used stands for its answer."
Watch = Callable[[Pod, str, Set[str]], None]  # a pod, its node, and the nodes that its plugin takes pods from
Check = Callable[[str, int, int], None]  # what is done, how much of how much; may raise to end the work


@dataclass(frozen=True, slots=True)
class Landing:
    """What becomes of one evicted pod. ``target`` is the node of its replacement, or ``message`` says why none is."""

    pod: str
    workload: str
    source: str
    plugin: str
    profile: str
    fate: str
    target: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget that evictions asked: how many it allowed before, and how many it still does."""

    name: str
    before: int
    left: int


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A workload some of whose pods are evicted."""

    workload: str
    pods: int
    evicted: int
    unfit: int


@dataclass(frozen=True, slots=True)
class DryRun:
    """A descheduling cycle and what follows from it. ``emptied`` and ``filled`` are nodes that lose or get all work."""

    cycle: CycleResult = field(repr=False)
    landings: tuple[Landing, ...]
    before: Standing
    after: Standing
    emptied: tuple[str, ...]
    filled: tuple[str, ...]
    budgets: tuple[Budget, ...]
    disturbed: tuple[Disturbed, ...]
    notes: tuple[str, ...]

    def count(self, fate: str) -> int:
        return sum(one.fate == fate for one in self.landings)


def bound(snapshot: Snapshot) -> Iterable[Pod]:
    """The pods of a snapshot, with what was read of them."""
    return (pod for pod in snapshot.pods.pods if pod is not None)


class Ground:
    """A cluster in which cycles of the descheduler and of kube-scheduler follow one another.

    ``snapshot`` is taken over and changes. What the descheduler sees is ``described``; both are made of the same
    objects. A replacement keeps its predecessor's name, so that a pod and those after it are known as one.
    """

    def __init__(
        self,
        described: Described,
        snapshot: Snapshot,
        configuration: Configuration,
        table: PriceTable | None = None,
        check: Check = lambda *progress: None,
    ) -> None:
        self.snapshot = snapshot
        self.scheduler = Scheduler.of(snapshot, configuration)
        self.use = Use(snapshot)
        self.rates = Rates.of(table, [node.labels for node in snapshot.nodes])
        self.waiting: list[Pod] = []  # evicted earlier, and still without a node
        self._described, self._check = described, check
        self._views = {pod.key: pod for pod in described.pods}
        self._watched: Watch | None = None

    def watch(self, landed: Watch) -> None:
        """Call ``landed`` with each replacement before it is put on its node."""
        self._watched = landed

    def run(self, document: str | Json, now: float) -> DryRun:
        """One cycle at ``now`` (seconds of the epoch), and the placing of its pods.

        Raises PolicyRefused and SelectorError, as ``run_cycle`` does.
        """
        policy = load_policy(document, self._described.classes)
        notes = [] if self.use.known else [NO_USE]
        if policy.queries and self.use.known:
            notes.append(BY_SHARE)
        asks = policy.collects or policy.queries
        metrics = self.use.metrics(one.pod for one in self._views.values()) if asks else None
        self._check("Running the descheduler", 0, 0)
        sizes = self._sizes()
        allowed = {one.key: one.budget.allowed for one in self._described.budgets}
        busy = at_work(self.snapshot)
        before = standing_of(self.snapshot, self.use, self.rates, busy)
        cycle = run_cycle(policy, self._cluster(), now, metrics)
        self.snapshot.now = now
        landings, whole = self._land(cycle.evicted, now)
        self.use.measured(now)
        after = at_work(self.snapshot)
        names = self.snapshot.names
        if self.use.known and not whole:
            notes.append(NO_POD_USE)
        return DryRun(
            cycle=cycle,
            landings=tuple(landings),
            before=before,
            after=standing_of(self.snapshot, self.use, self.rates, after),
            emptied=tuple(name for name, old, new in zip(names, busy, after, strict=True) if old and not new),
            filled=tuple(name for name, old, new in zip(names, busy, after, strict=True) if new and not old),
            budgets=tuple(Budget(name, allowed[name], left) for name, left in sorted(cycle.left.items())),
            disturbed=_disturbed(landings, sizes),
            notes=tuple(notes),
        )

    def _sizes(self) -> Counter[str]:
        """How many pods each workload has."""
        found, names = Counter[str](), dict[Hashable, str]()
        for one in self._views.values():
            if not one.done:
                key = one.namespace, one.pod.controller or one.name
                if key not in names:
                    names[key] = workload(one.pod, self.snapshot)
                found[names[key]] += 1
        return found

    def _cluster(self) -> Cluster:
        there = self._described
        cluster = Cluster(list(there.nodes), there.budgets, there.namespaces, there.claims)
        cluster.add(self._views.values())
        return cluster

    def _land(self, evicted: Iterable[Eviction], now: float) -> tuple[list[Landing], bool]:
        """The landings in the order of the evictions, and whether the use of all of them is known."""
        taken, whole = [(one, self._taken(one.pod)) for one in evicted], True
        again, self.waiting = self.waiting, []
        for pod in again:
            target, _ = self._placed(pod, now)
            self.use.move(pod, "", target)
        landings, sources = [], defaultdict[str, set[str]](set)
        for eviction, _ in taken:
            sources[eviction.plugin].add(eviction.node)
        for number, (eviction, (pod, fate)) in enumerate(taken):
            self._check("Placing evicted pods", number, len(taken))
            said = {"": "", GONE: NO_CONTROLLER if pod.controller is None else ENDED}[fate]
            target = ""
            if not fate:
                target, said = self._placed(pod, now, sources[eviction.plugin])
                fate = UNFIT if not target else RETURNS if target == eviction.node else LANDS
            whole = self.use.move(pod, eviction.node, target) and whole
            landings.append(
                Landing(
                    eviction.pod,
                    workload(pod, self.snapshot),
                    eviction.node,
                    eviction.plugin,
                    eviction.profile,
                    fate,
                    target,
                    said,
                )
            )
        return landings, whole

    def _taken(self, key: str) -> tuple[Pod, str]:
        """Take an evicted pod out of the cluster: it without its node, and GONE where nothing comes in its place."""
        seen = self._views[key]
        held = key in self.snapshot.pods.slots
        pod = self.scheduler.evict(key) if held else seen.pod
        if not held or pod.controller is None:
            del self._views[key]
            return pod.on(""), GONE
        return pod.on(""), ""

    def _placed(self, pod: Pod, now: float, sources: Set[str] = frozenset()) -> tuple[str, str]:
        """The node that the replacement gets, or what the scheduler says of it."""
        pod, _ = self.scheduler.create_claims(pod)
        found = self.scheduler.find(pod)
        if found.node:
            if self._watched is not None:
                self._watched(pod, found.node, sources)
            found = self.scheduler.bind_found(pod, found)
        if not found.node:
            self.waiting.append(pod)
        self._views[pod.key] = self._view(pod, found.node, now)
        return found.node, found.message

    def _view(self, pod: Pod, node: str, now: float) -> PodView:
        return view(renewed(pod.raw, node, now, now), self._described.asked)


def _disturbed(landings: Iterable[Landing], sizes: Counter[str]) -> tuple[Disturbed, ...]:
    """The workloads, those first of which most pods are evicted."""
    evicted, unfit = Counter[str](), Counter[str]()
    for one in landings:
        evicted[one.workload] += 1
        unfit[one.workload] += one.fate == UNFIT
    ordered = sorted(evicted, key=lambda name: (-evicted[name], name))
    return tuple(Disturbed(name, max(sizes[name], evicted[name]), evicted[name], unfit[name]) for name in ordered)
