"""The descheduler at work in a simulation: a cycle at each interval, with evictions through the eviction API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster, DisruptionBudget
from kschedweb.engine.rebalancing.cluster_usage import ClusterUsage
from kschedweb.engine.rebalancing.cycle import CycleResult, run_cycle
from kschedweb.engine.rebalancing.loading import DeschedulerPolicy, load_policy
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.pods import PodView, read_pod_view, renew_pod
from kschedweb.engine.rebalancing.scenario import DescribedCluster
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.autoscaling.context import BY_API, LiveBudget
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.values import dataclass

BECAUSE = "{} of the descheduler"
# Rounds after the last event of a run without an end: two policies that fight never come to rest.
MOST_ROUNDS = 20
STOPPED = f"the descheduler stopped {MOST_ROUNDS} rounds after the last event: the run has no end of its own"
# (bound, leaving, node): a pod is read again when any of it changes.
_State = tuple[bool, bool, str]


@dataclass(frozen=True, slots=True)
class DescheduledPod:
    """A pod that a plugin of one of the descheduler's profiles evicts."""

    life: PodLife
    plugin: str
    profile: str


@dataclass(frozen=True, slots=True)
class DeschedulerRound:
    """A cycle of the descheduler."""

    # Counted from 1.
    number: int
    evicted: tuple[DescheduledPod, ...]
    # Number of evictions that were refused.
    refused: int
    # Why plugins did nothing; "" if they did not say.
    note: str


@dataclass(frozen=True, eq=False)
class DeschedulerSetup(ActorSetup):
    """The descheduler of a scenario; one serves for any number of simulations."""

    policy: DeschedulerPolicy
    described: DescribedCluster
    budgets: Sequence[tuple[DisruptionBudget, LiveBudget]]
    # Seconds between cycles.
    interval: float

    @classmethod
    def from_document(cls, document: Json, objects: Iterable[Json], interval: float) -> DeschedulerSetup:
        """Read a policy for a cluster of ``objects``.

        Raises PolicyRefused, for instance if it names an unknown priority class.
        """
        other_objects = [raw for raw in objects if raw.get("kind") not in ("Node", "Pod")]
        described, _ = DescribedCluster.from_objects(other_objects)
        read = {budget.key: budget for budget in described.budgets}
        live = (LiveBudget.from_json(raw) for raw in other_objects if raw.get("kind") == "PodDisruptionBudget")
        budgets = [
            (read[key], live_budget)
            for live_budget in live
            if (key := f"{live_budget.namespace}/{live_budget.name}") in read
        ]
        return cls(load_policy(document, described.classes), described, budgets, interval)

    def join(self, context: SimulationContext) -> Actor:
        return Descheduling(self, context)


@dataclass(eq=False)
class Descheduling(Actor):
    """The descheduler of one simulation; its first cycle is one interval after the beginning."""

    setup: DeschedulerSetup
    context: SimulationContext
    # Time of the last event, where the simulation ends once nothing more happens; else ``None``.
    after: float | None = None
    stopped: bool = False
    _rounds: int = 0
    # Time of the last round, and how many pods it evicted.
    _last: tuple[float, int] = (-1.0, 0)
    # Number of rounds after ``after``.
    _beyond: int = 0
    _views: dict[PodLife, tuple[_State, PodView]] = field(default_factory=dict)

    @property
    def pods(self) -> Pods:
        return self.context.pods

    def begin(self) -> None:
        self.context.schedule_background(self.setup.interval, self._run_round)

    def await_rest(self, last_event: float) -> None:
        self.after = last_event

    def is_awaited(self, since: float) -> bool:
        """Return false if it has stopped, or if a round after ``since`` evicted nothing."""
        time, evicted = self._last
        return not (self.stopped or (time > since and not evicted))

    def list_notes(self) -> list[str]:
        return [STOPPED] if self.stopped else []

    def _run_round(self, now: float) -> None:
        self._rounds += 1
        result = self._run_cycle(now)
        keys = [(eviction, self.pods.lives[eviction.pod]) for eviction in result.evicted]
        evicted = [DescheduledPod(life, eviction.plugin, eviction.profile) for eviction, life in keys]
        note = "; ".join(filter(None, (result.skipped, *result.outcome.plugin_errors, *result.outcome.notes)))
        self.context.report(DeschedulerRound(self._rounds, tuple(evicted), len(result.failures), note), now)
        for descheduled in evicted:
            self.pods.evict_pod(descheduled.life, BECAUSE.format(descheduled.plugin), now, BY_API)
        self._last = now, len(evicted)
        self._beyond += self.after is not None and now > self.after
        self.stopped = self._beyond >= MOST_ROUNDS
        if not self.stopped:
            self.context.schedule_background(now + self.setup.interval, self._run_round)

    def _run_cycle(self, now: float) -> CycleResult:
        world, described, policy = self.pods.world, self.setup.described, self.setup.policy
        lives = list(self.pods.lives.values())
        views = [self._pod_view(life) for life in lives]
        # Views of pods that are gone are dropped.
        self._views = {life: self._views[life] for life in lives}
        budgets = [_with_current_health(read, live, lives) for read, live in self.setup.budgets]
        cluster = DeschedulerCluster(list(world.nodes.values()), budgets, described.namespaces, described.claims)
        cluster.add_pods(views)
        metrics: Metrics | None = None
        if policy.collects_metrics or policy.queries_prometheus:
            metrics = ClusterUsage(world.snapshot).to_metrics(pod_view.pod for pod_view in views)
        return run_cycle(policy, cluster, now, metrics)

    def _pod_view(self, life: PodLife) -> PodView:
        """Return the pod as the API server shows it, on the clock of the simulation."""
        state = life.bound is not None, life.leaves is not None, life.pod.node_name
        cached = self._views.get(life)
        if cached is None or cached[0] != state:
            raw = _raw_pod_at(life)
            pod_view = read_pod_view(raw, self.setup.described.requests_by_template, replace(life.pod, raw=raw))
            cached = self._views[life] = state, pod_view
        return cached[1]


def _raw_pod_at(life: PodLife) -> Json:
    """Return the pod's object: as it was at the beginning, or running since it got its node."""
    raw = life.pod.raw
    if life.bound != 0.0 or not get_mapping(raw, "status").get("phase"):
        node = life.pod.node_name if life.bound is not None else ""
        raw = renew_pod(life.template.raw, node, life.arrived, life.bound or 0.0)
    if life.leaves is None:
        return raw
    deleted = get_mapping(life.pod.raw, "metadata").get("deletionTimestamp")
    return {**raw, "metadata": {**get_mapping(raw, "metadata"), "deletionTimestamp": deleted}}


def _with_current_health(read: DisruptionBudget, live: LiveBudget, lives: Iterable[PodLife]) -> DisruptionBudget:
    healthy, desired = live.count_healthy(lives)
    budget = replace(read.budget, allowed=max(healthy - desired, 0), disrupted=frozenset())
    return replace(read, budget=budget, healthy=healthy >= desired > 0)
