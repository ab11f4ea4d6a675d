"""The descheduler at work in a simulation: a cycle every so often, whose evictions are those of the eviction API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from kschedweb.engine.objects.access import Json, mapping
from kschedweb.engine.rebalancing.cluster import Cluster, DisruptionBudget
from kschedweb.engine.rebalancing.cycle import CycleResult, run_cycle
from kschedweb.engine.rebalancing.loading import Policy, load_policy
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.pods import PodView, renewed, view
from kschedweb.engine.rebalancing.scenario import Described
from kschedweb.engine.rebalancing.use import Use
from kschedweb.engine.simulation.agenda import Agenda
from kschedweb.engine.simulation.autoscaling.hands import BY_API, LiveBudget
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.observer import DescheduledPod, DeschedulerRound
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.values import dataclass

BECAUSE = "{} of the descheduler"
MOST_ROUNDS = 20
"""Rounds that follow the last event of a run without an end of its own: two policies that fight never come to rest."""
_State = tuple[bool, bool, str]


@dataclass(frozen=True, eq=False)
class DeschedulerSetup:
    """The descheduler as a scenario has it, the same for any number of simulations: a cycle each ``every`` seconds."""

    policy: Policy
    described: Described
    budgets: Sequence[tuple[DisruptionBudget, LiveBudget]]
    every: float

    @classmethod
    def of(cls, document: Json, objects: Iterable[Json], every: float) -> DeschedulerSetup:
        """For a cluster of ``objects``; raises PolicyRefused, as where it names a priority class that is not there."""
        others = [raw for raw in objects if raw.get("kind") not in ("Node", "Pod")]
        described, _ = Described.of(others)
        read = {one.key: one for one in described.budgets}
        live = (LiveBudget.read(raw) for raw in others if raw.get("kind") == "PodDisruptionBudget")
        budgets = [(read[key], one) for one in live if (key := f"{one.namespace}/{one.name}") in read]
        return cls(load_policy(document, described.classes), described, budgets, every)


@dataclass(eq=False)
class Descheduling:
    """The descheduler of one simulation. Its first cycle is ``every`` seconds after the beginning.

    ``after`` is the time of the last event where the simulation ends once nothing more happens.
    """

    setup: DeschedulerSetup
    pods: Pods
    agenda: Agenda
    after: float | None = None
    stopped: bool = False
    _rounds: int = 0
    _last: tuple[float, int] = (-1.0, 0)  # when the last round was, and how many pods it evicted
    _beyond: int = 0
    _views: dict[Life, tuple[_State, PodView]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agenda.add(self.setup.every, self._round, looks=True)

    def at_rest(self, since: float) -> bool:
        """Whether its last round, in a cluster that has not changed ``since``, evicted nothing; or it has stopped."""
        time, evicted = self._last
        return self.stopped or (time > since and not evicted)

    def _round(self, now: float) -> None:
        self._rounds += 1
        found = self._cycle(now)
        keys = [(one, self.pods.lives[one.pod]) for one in found.evicted]
        evicted = [DescheduledPod(life, one.plugin, one.profile) for one, life in keys]
        said = "; ".join(filter(None, (found.skipped, *found.outcome.plugin_errors, *found.outcome.notes)))
        self.pods.observer.descheduled(DeschedulerRound(self._rounds, tuple(evicted), len(found.failures), said), now)
        for one in evicted:
            self.pods.evict(one.life, BECAUSE.format(one.plugin), now, BY_API)
        self._last = now, len(evicted)
        self._beyond += self.after is not None and now > self.after
        self.stopped = self._beyond >= MOST_ROUNDS
        if not self.stopped:
            self.agenda.add(now + self.setup.every, self._round, looks=True)

    def _cycle(self, now: float) -> CycleResult:
        world, described, policy = self.pods.world, self.setup.described, self.setup.policy
        lives = list(self.pods.lives.values())
        views = [self._view(life) for life in lives]
        self._views = {life: self._views[life] for life in lives}  # those that are gone need no room
        budgets = [_as_it_stands(read, live, lives) for read, live in self.setup.budgets]
        cluster = Cluster(list(world.nodes.values()), budgets, described.namespaces, described.claims)
        cluster.add(views)
        metrics: Metrics | None = None
        if policy.collects or policy.queries:
            metrics = Use(world.snapshot).metrics(one.pod for one in views)
        return run_cycle(policy, cluster, now, metrics)

    def _view(self, life: Life) -> PodView:
        """The pod as the API server shows it, on the clock of the simulation."""
        state = life.bound is not None, life.leaves is not None, life.pod.node_name
        known = self._views.get(life)
        if known is None or known[0] != state:
            raw = _shown(life)
            found = view(raw, self.setup.described.asked, replace(life.pod, raw=raw))
            known = self._views[life] = state, found
        return known[1]


def _shown(life: Life) -> Json:
    """A pod that was there at the beginning is as it was then; others run from when they got their nodes."""
    raw = life.pod.raw
    if life.bound != 0.0 or not mapping(raw, "status").get("phase"):
        node = life.pod.node_name if life.bound is not None else ""
        raw = renewed(life.template.raw, node, life.arrived, life.bound or 0.0)
    if life.leaves is None:
        return raw
    deleted = mapping(life.pod.raw, "metadata").get("deletionTimestamp")
    return {**raw, "metadata": {**mapping(raw, "metadata"), "deletionTimestamp": deleted}}


def _as_it_stands(read: DisruptionBudget, live: LiveBudget, lives: Iterable[Life]) -> DisruptionBudget:
    healthy, wanted = live.counts(lives)
    budget = replace(read.budget, allowed=max(healthy - wanted, 0), disrupted=frozenset())
    return replace(read, budget=budget, healthy=healthy >= wanted > 0)
