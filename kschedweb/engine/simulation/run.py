"""A cluster and its scheduler over time: the same input gives the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.controllers.admission import DEFAULT, AdmissionError, admit_group
from kschedweb.engine.controllers.nodelifecycle import FALSE, READY, TRUE, LifecycleTiming
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, describe_object
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.queue import GroupQueue, create_scheduling_queue
from kschedweb.engine.simulation import events as happen
from kschedweb.engine.simulation.actors import Actor, Handler
from kschedweb.engine.simulation.admission import AdmissionSetup
from kschedweb.engine.simulation.agenda import Agenda
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.group_scheduling import GroupLoop
from kschedweb.engine.simulation.hopeless_tries import HopelessTries
from kschedweb.engine.simulation.kubelets import Kubelets
from kschedweb.engine.simulation.metering import MeteringSetup
from kschedweb.engine.simulation.nodes import EVICTED, EVICTION_API, SimulatedNodes
from kschedweb.engine.simulation.observer import Observer
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.simulation.result import ClusterSample, Pending, Result
from kschedweb.engine.simulation.scaling.scalers import ScalersSetup
from kschedweb.engine.simulation.scheduling import SchedulingLoop
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.owners import has_daemon_set_owner
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.values import dataclass

# Seconds without a change after which a cluster counts as settled.
SETTLED = 600.0
Kind = TypeVar("Kind", bound=Actor)


class SimulationError(ValueError):
    """An event that cannot happen; the text says when, to what, and why."""


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """The settings of a simulation; times in seconds."""

    # Duration of a try to schedule.
    cycle: float = 0.001
    # Time between samples of the state of the cluster.
    sample: float = 60.0
    # False if nobody taints nodes for their conditions, or evicts pods for taints.
    controllers: bool = True
    # True if controllers replace their pods that are on nodes at time 0 and evicted later.
    replaced: bool = False
    # Of more samples every other one is dropped, and from then on half as many are taken.
    most_samples: int = 1 << 20
    # Names of the API server's admission plugins that are on.
    admission: frozenset[str] = DEFAULT
    # True if a run until quiet always ends ten minutes after its last change, even if real use is known.
    settles: bool = False
    lifecycle: LifecycleTiming = field(default_factory=LifecycleTiming)


@dataclass(frozen=True, slots=True)
class StartState:
    """Raw objects (nodes, pods, everything else) at time 0, read once for any number of simulations.

    They are read for the releases that have the same ``view``.
    """

    world: SchedulerCache
    pending: list[Pod]
    # (object, why it was left out)
    problems: list[tuple[str, str]]

    @classmethod
    def from_objects(cls, objects: Iterable[Any], release: Release, watermarks: Watermarks | None = None) -> StartState:
        """Read objects; unreadable ones are listed in ``problems``.

        ``watermarks`` take the place of those in the nodes' annotations.
        """
        snapshot = release.build_snapshot(objects)
        world = SchedulerCache(snapshot)
        if watermarks is not None:
            world.set_watermarks(watermarks)
        return cls(world, snapshot.pending, snapshot.problems)


def list_standard_actors(use: UseModel | None = None) -> list[ActorSetup]:
    """Return the actors of every simulation: admission with quotas, scalers of workloads, and the measurement of use.

    ``use`` knows the real use of pods, and gives the snapshot its watermarks; without it they stay as they are.
    """
    metering = [] if use is None else [MeteringSetup(use)]
    return [AdmissionSetup(), ScalersSetup(use), *metering]


class Simulation:
    """A simulation of a cluster: ``objects`` at time 0, raw or read already, and the ``events`` that follow.

    Pods of the objects that have a node run for ever; those without arrive at time 0. ``registry`` and ``extenders``
    are as for Scheduler. ``actors`` act beside the scheduler, in this order; None: ``list_standard_actors``.
    ``observer`` hears of everything. A ``quick`` simulation leaves out tries that are known to fail; its result does
    not list rejections, and of groups only the tries that differ from the last one. All else is the same.
    """

    def __init__(
        self,
        objects: Iterable[Any] | StartState,
        configuration: Configuration,
        events: Iterable[happen.SimulationEvent] = (),
        settings: SimulationSettings | None = None,
        actors: Iterable[ActorSetup] | None = None,
        *,
        registry: Mapping[str, PluginFactory] | None = None,
        extenders: Extenders | None = None,
        observer: Observer | None = None,
        quick: bool = False,
    ) -> None:
        self.settings = settings or SimulationSettings()
        self.now = 0.0
        self.result = Result()
        self._seen, self._counting = configuration.release.view
        start = objects if isinstance(objects, StartState) else StartState.from_objects(objects, configuration.release)
        self.result.refused += [(0.0, f"{subject}: {why}") for subject, why in start.problems]
        self.world = start.world.copy()
        nominator = Nominator()
        scheduler = Scheduler.from_configuration(
            self.world.snapshot, configuration, registry, nominator=nominator, extenders=extenders
        )
        frameworks = scheduler.frameworks
        self.queue = create_scheduling_queue(configuration, frameworks, self.world.cluster, nominator)
        self._agenda = Agenda()
        self.pods = Pods(self.world, self.queue, self._agenda, self.result, frameworks, self._is_reachable, observer)
        # A plugin of another package may decide by what no answer foresees.
        hopeless = HopelessTries(scheduler, self.queue) if quick and registry is None else None
        loop_of = GroupLoop if configuration.release.has_group_scheduling else SchedulingLoop
        self.loop = loop_of(scheduler, self.pods, self.settings.cycle, hopeless)
        self._limit = self._last_event = 0.0
        controlled = self.settings.controllers
        comparison_operators = configuration.release.is_enabled("TaintTolerationComparisonOperators")
        self.nodes = SimulatedNodes(self.pods, self.settings.lifecycle if controlled else None)
        self.kubelets = Kubelets(
            self.pods, self.nodes, comparison_operators=comparison_operators, controlled=controlled
        )
        for pod in start.pending:
            self._agenda.schedule_action(0.0, self._arrival_action(happen.PodArrives(0.0, pod.raw)))
        self._sample_interval = self.settings.sample
        self._agenda.schedule_action(0.0, self._take_sample, looks=True)
        context = SimulationContext(
            configuration,
            self.settings.admission,
            self.pods,
            self.nodes,
            self._join_node,
            self._remove_node,
            self._create_pod,
        )
        self.actors = [setup.join(context) for setup in (list_standard_actors() if actors is None else actors)]
        self.pods.actors = self.actors
        self._add_initial_pods()
        self._enter_events(events)
        for actor in self.actors:
            actor.begin()

    def _add_initial_pods(self) -> None:
        """Take in the pods that are on nodes at the beginning."""
        self.pods.create_missing_claims()
        for pod in self.world.all_pods():
            replaced = self.settings.replaced and pod.controller is not None and not has_daemon_set_owner(pod)
            life = self.pods.lives[pod.key] = PodLife(pod, pod, 0.0, bound=0.0, replaced=replaced)
            self.pods.observer.arrived(life, 0.0)
            self.pods.observer.bound(life, 0.0)
            for actor in self.actors:
                actor.on_initial_pod(pod)

    def find_actor(self, kind: type[Kind]) -> Kind | None:
        """Return the actor of this kind; ``None`` if there is none."""
        return next((actor for actor in self.actors if isinstance(actor, kind)), None)

    def _create_pod(self, raw: Json, now: float, *, replaced: bool = False) -> None:
        """Create a pod for a controller."""
        self._arrival_action(happen.PodArrives(now, raw, replaced=replaced))(now)

    def _admit_object(self, raw: Json) -> Json:
        """Return the pod as the API server stores it; raise AdmissionError for one that it refuses."""
        for actor in self.actors:
            raw = actor.admit_object(raw)
        return raw

    def _is_reachable(self, node: str) -> bool:
        return self.nodes.is_reachable(node)

    def run(self, end_time: float) -> Result:
        """Let time pass to ``end_time`` (seconds); may be called again with a later time. Raises SimulationError."""
        self._limit = end_time
        while (time := self._next_time()) is not None and time <= end_time:
            self._run_step(time)
        return self._finish_run(end_time)

    def schedule_eviction(self, key: str, reason: str) -> None:
        """Evict the pod ``namespace/name`` from its node when time goes on; raises KeyError if there is none."""
        life = self.pods.lives[key]
        self._agenda.schedule_action(self.now, lambda now: self.pods.evict_pod(life, reason, now))

    def _evict_pod(self, key: str, now: float) -> None:
        life = self.pods.lives.get(key)
        if life is not None and life.bound is not None:
            self.pods.evict_pod(life, EVICTED, now, EVICTION_API)

    def run_until_quiet(self, limit: float) -> Result:
        """Let time pass until nothing more will come of the events, or to ``limit``; see ``run``.

        Pods that fit nowhere may still wait. If a node is in trouble, tries end in errors, or real use is measured, the
        run ends after ten minutes without a change. It waits for the descheduler, but not for more than twenty rounds
        after the last event.
        """
        self._limit = limit
        for actor in self.actors:
            actor.await_rest(self._last_event)
        state, since = self._change_marker(), self.now
        while (time := self._next_time()) is not None and time <= limit:
            if not self._is_awaiting(since):
                if self._is_at_rest():
                    break
                if time > (settled := max(self.now, since + SETTLED)):
                    return self._finish_run(settled)
            self._run_step(time)
            if (now := self._change_marker()) != state:
                state, since = now, time
        return self._finish_run(self.now)

    def _run_step(self, time: float) -> None:
        self.now = time
        # Events come before controllers, and both before the scheduler: it sees all that happens at this time.
        self._agenda.run_due(time)
        self.nodes.pass_time(time)
        if not self._agenda.due or not self.loop.repeat_hopeless_tries(time, self._next_other(time)):
            self.queue.flush(time)
            self.loop.run_cycles(time)
        self.pods.observer.passed(time)

    def _change_marker(self) -> tuple[int, ...]:
        """Return a marker that differs once anything has changed in the cluster."""
        return len(self.result.bound), len(self.result.evicted), self.result.completed, len(self.pods.lives)

    def _is_awaiting(self, since: float) -> bool:
        """Return true if events, evictions or what actors do is still to come after the last change."""
        if self._agenda.due or self.pods.eviction.next_due() is not None:
            return True
        return any(actor.is_awaited(since) for actor in self.actors)

    def _is_at_rest(self) -> bool:
        """Return true if nothing that goes on could change the cluster."""
        watched = self.settings.settles or any(actor.is_watching for actor in self.actors)
        return self.nodes.at_rest and not (self.queue.is_ready or len(self.queue.backoff) or watched)

    def _finish_run(self, now: float) -> Result:
        self.now = self.result.end = now
        self.result.pending = [
            Pending(life.pod.key, life.arrived, life.attempts, life.message)
            for life in self.pods.lives.values()
            if life.bound is None and life.pod.key not in self.result.ignored
        ]
        return self.result

    def _next_time(self) -> float | None:
        candidates = (self._agenda.next_time, self.nodes.next_time(self.now), self.queue.next_flush(self.now))
        return min((time for time in candidates if time is not None), default=None)

    def _next_other(self, now: float) -> float:
        """Return when something happens next beside tries of pods that have waited for long; at the latest the end."""
        times = (self._agenda.next_time, self.nodes.next_time(now), self.queue.next_flush(now), self._limit)
        return min(time for time in times if time is not None)

    def _take_sample(self, now: float) -> None:
        bound, unknown = len(self.world.snapshot.pods.slots), self.nodes.unknown_pods
        sample = ClusterSample(
            now, len(self.world.nodes), bound, *self.queue.count_pods(), unknown, self.world.requested_shares()
        )
        self.result.samples.append(sample)
        if len(self.result.samples) >= self.settings.most_samples:
            del self.result.samples[1::2]
            self._sample_interval *= 2
        self._agenda.schedule_action(
            self.result.samples[-1].time + self._sample_interval, self._take_sample, looks=True
        )

    # What happens from outside.

    def _enter_events(self, listed: Iterable[happen.SimulationEvent]) -> None:
        handlers: dict[type, Handler] = {
            happen.PodArrives: self._arrival_action,
            happen.PodChanges: lambda event: lambda now: self._change_pod(event, now),
            happen.PodLeaves: lambda event: lambda now: self._delete_pod(event, now),
            happen.PodIsEvicted: lambda event: lambda now: self._evict_pod(event.pod, now),
            happen.PodGroupArrives: lambda event: lambda now: self._put_group(event.group, now, exists=False),
            happen.PodGroupChanges: lambda event: lambda now: self._put_group(event.group, now, exists=True),
            happen.PodGroupLeaves: lambda event: lambda now: self._delete_group(event.group, now),
            happen.PermitAllows: lambda event: lambda now: self.loop.allow_pod(event.pod, event.plugin, now),
            happen.PermitRejects: lambda event: (
                lambda now: self.loop.reject_pod(event.pod, event.plugin, event.reason, now)
            ),
            happen.NodeJoins: lambda event: lambda now: self._join_node(event.node, now),
            happen.NodeLeaves: lambda event: lambda now: self._remove_node(event.node, now),
            happen.NodeChanges: lambda event: lambda now: self._change_node(event, now),
            happen.NodeDrains: lambda event: lambda now: self.nodes.drain_node(self._check_node(event.node), now),
            happen.NodeReports: lambda event: (
                lambda now: self._report_node(event.node, {READY: TRUE if event.ready else FALSE}, now)
            ),
            happen.NodeConditions: lambda event: lambda now: self._report_node(event.node, event.conditions, now),
            happen.NodeFallsSilent: lambda event: (
                lambda now: self.nodes.lifecycle.silence_node(self._check_node(event.node), now)
            ),
        }
        for actor in self.actors:
            handlers |= actor.handlers
        # The sort is stable: events of the same time happen in the order in which they are listed.
        for event in sorted(listed, key=lambda event: event.time):
            if event.time < 0:
                raise SimulationError(f"{type(event).__name__} at {event.time:g} s: is before the beginning")
            self._last_event = event.time
            self._agenda.schedule_action(event.time, self._guard_action(event, handlers[type(event)](event)))

    @staticmethod
    def _guard_action(event: happen.SimulationEvent, action: Callable[[float], None]) -> Callable[[float], None]:
        def guarded_action(now: float) -> None:
            try:
                action(now)
            except (ObjectError, SimulationError) as problem:
                raise SimulationError(f"{type(event).__name__} at {event.time:g} s: {problem}") from None

        return guarded_action

    def _arrival_action(self, event: happen.PodArrives) -> Callable[[float], None]:
        def on_arrival(now: float) -> None:
            pod, stored = event.pod, isinstance(event.pod, Pod)
            if not isinstance(pod, Pod):
                try:
                    pod = Pod.from_json(self._admit_object(pod))
                except AdmissionError as problem:
                    self.result.refused.append((now, str(problem)))
                    return
                except ObjectError as problem:
                    raise SimulationError(f"{describe_object(event.pod)}: {problem}") from None
            if pod.key in self.pods.lives:
                raise SimulationError(f"Pod {pod.key}: is there already")
            pod = pod.with_counting(self._counting)
            self.pods.let_in(pod, lambda time: self._admit_pod(pod, event, time), now, checked=stored)

        return on_arrival

    def _admit_pod(self, pod: Pod, event: happen.PodArrives, now: float) -> None:
        life = PodLife(pod, pod, now, event.duration, event.replaced)
        if pod.node_name:
            self.kubelets.on_pod_arrival(life, now)
        else:
            self.pods.add_pod(life, now)

    def _change_pod(self, event: happen.PodChanges, now: float) -> None:
        new = Pod.from_json(self._admit_object(event.pod)).with_counting(self._counting)
        if event.if_there and new.key not in self.pods.lives:
            return
        node = self._get_life(new.key).pod.node_name
        self.pods.change_pod(new.on(node) if node else new, now)

    def _delete_pod(self, event: happen.PodLeaves, now: float) -> None:
        key = self.pods.find_heir(event.pod)
        if any(actor.withdraw_pod(key) for actor in self.actors):
            return
        if key in self.pods.lives or not event.if_there:
            self.pods.delete_pod(self._get_life(key), now)

    def _put_group(self, raw: Json, now: float, *, exists: bool) -> None:
        group = PodGroup.from_json(admit_group(raw, self.world.cluster))
        old_group = self.world.cluster.groups.refresh(group)
        if exists != (old_group is not None):
            raise SimulationError(f"{group.kind} {group.key}: is {'not there' if exists else 'there already'}")
        if old_group is not None:
            group = replace(group, scheduled=old_group.scheduled)
        self.world.cluster.groups.put_group(group)
        if isinstance(self.queue, GroupQueue):
            self.queue.follow_group(old_group, group, now)

    def _delete_group(self, key: str, now: float) -> None:
        group = self.world.cluster.groups.remove_group(key)
        if group is None:
            raise SimulationError(f"PodGroup {key}: is not there")
        if isinstance(self.queue, GroupQueue):
            self.queue.follow_group(group, None, now)

    def _get_life(self, key: str) -> PodLife:
        if key not in self.pods.lives:
            raise SimulationError(f"Pod {key}: is not there")
        return self.pods.lives[key]

    def _check_node(self, name: str) -> str:
        if name not in self.world.nodes:
            raise SimulationError(f"Node {name}: is not there")
        return name

    def _join_node(self, raw: Json, now: float) -> None:
        node = Node.from_json(self._seen.of_today(raw))
        if node.name in self.world.nodes:
            raise SimulationError(f"Node {node.name}: is there already")
        self.nodes.add_node(node, now)
        self.kubelets.on_report(node.name, now)

    def _report_node(self, name: str, conditions: Mapping[str, str], now: float) -> None:
        self.nodes.report_conditions(self._check_node(name), conditions, now)
        if self.nodes.is_reachable(name):
            self.kubelets.on_report(name, now)

    def _change_node(self, event: happen.NodeChanges, now: float) -> None:
        self._check_node(event.node)
        self.nodes.change_node(event, now)

    def _remove_node(self, name: str, now: float) -> None:
        self.loop.remove_node(self._check_node(name), now)
        self.nodes.remove_node(name, now)
