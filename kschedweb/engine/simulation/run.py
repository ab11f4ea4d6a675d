"""A cluster and its scheduler over time: the same input gives the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.controllers.admission import DEFAULT, AdmissionError, admit, admit_group
from kschedweb.engine.controllers.nodelifecycle import FALSE, READY, TRUE, LifecycleTiming
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.framework.events import NODE, Action, ClusterEvent
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.objects.access import Json, ObjectError, reference
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.queue import GroupQueue, queue_of
from kschedweb.engine.simulation import events as happen
from kschedweb.engine.simulation.admitting import QuotaGate
from kschedweb.engine.simulation.agenda import Agenda
from kschedweb.engine.simulation.autoscaling.hands import AutoscalerSetup, Hands
from kschedweb.engine.simulation.descheduling import DeschedulerSetup, Descheduling
from kschedweb.engine.simulation.groups import GroupLoop
from kschedweb.engine.simulation.hopeless import Hopeless
from kschedweb.engine.simulation.kubelets import Kubelets
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.nodes import EVICTED, EVICTION_API, Nodes
from kschedweb.engine.simulation.observer import Observer
from kschedweb.engine.simulation.pods import Pods
from kschedweb.engine.simulation.result import Pending, Result, Sample
from kschedweb.engine.simulation.scheduling import SchedulingLoop
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.owners import of_daemon_set
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.state.world import World
from kschedweb.engine.values import dataclass

SETTLED = 600.0  # seconds
MEASURED = ClusterEvent(NODE, Action.NODE_ANNOTATION)


class SimulationError(ValueError):
    """An event that cannot happen; the text says when, to what, and why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Seconds. ``cycle`` is what a try to schedule takes, ``sample`` how often is measured how things stand.

    Without ``controllers`` nobody taints nodes for their conditions, and nobody evicts pods for taints. With
    ``replaced`` controllers put others in the place of their pods that are on nodes at time 0 and evicted later. Of
    more than ``most_samples`` samples every other one is dropped, and from then on half as many are taken.
    ``admission`` names the API server's plugins that are on. With ``settles`` a run until quiet always ends ten minutes
    after its last change, whatever is known of real use.
    """

    cycle: float = 0.001
    sample: float = 60.0
    controllers: bool = True
    replaced: bool = False
    most_samples: int = 1 << 20
    admission: frozenset[str] = DEFAULT
    settles: bool = False
    lifecycle: LifecycleTiming = field(default_factory=LifecycleTiming)


@dataclass(frozen=True, slots=True)
class Start:
    """Raw objects (nodes, pods, everything else) at time 0, read once for any number of simulations.

    They are those of releases with one ``view``.
    """

    world: World
    pending: list[Pod]
    problems: list[tuple[str, str]]

    @classmethod
    def read(cls, objects: Iterable[Any], release: Release) -> Start:
        """What cannot be understood is among ``problems``."""
        snapshot = release.seen(objects)
        return cls(World(snapshot), snapshot.pending, snapshot.problems)


class Simulation:
    """Raw ``objects`` (nodes, pods, everything else) at time 0, read already or not, and the ``events`` that follow.

    Pods among the objects that have a node run for ever; those without arrive at time 0. ``registry`` and
    ``extenders`` are as for Scheduler. ``use`` knows what pods really use, and gives the snapshot its watermarks;
    without it these stay as ``watermarks`` or the nodes' annotations have them. ``observer`` is told of all that
    happens. The ``autoscaler`` lets nodes come and go, the ``descheduler`` evicts pods. Where it is to be ``quick``
    tries that are known to come to nothing are not made, and the result does not list what was rejected, and of groups
    only what differs from the last try; all else is the same.
    """

    def __init__(
        self,
        objects: Iterable[Any] | Start,
        configuration: Configuration,
        events: Iterable[happen.Event] = (),
        settings: Settings | None = None,
        *,
        registry: Mapping[str, Factory] | None = None,
        extenders: Extenders | None = None,
        use: UseModel | None = None,
        watermarks: Watermarks | None = None,
        observer: Observer | None = None,
        autoscaler: AutoscalerSetup | None = None,
        descheduler: DeschedulerSetup | None = None,
        quick: bool = False,
    ) -> None:
        self.settings = settings or Settings()
        self.now = 0.0
        self.result = Result()
        self._seen, self._counting = configuration.release.view
        start = objects if isinstance(objects, Start) else Start.read(objects, configuration.release)
        self.result.refused += [(0.0, f"{what}: {why}") for what, why in start.problems]
        self.world = start.world.copy()
        if watermarks is not None:
            self.world.measured(watermarks)
        nominator = Nominator()
        scheduler = Scheduler.of(self.world.snapshot, configuration, registry, nominator=nominator, extenders=extenders)
        frameworks = scheduler.frameworks
        self.queue = queue_of(configuration, frameworks, self.world.cluster, nominator)
        self._agenda = Agenda()
        self.gate = QuotaGate(self.world, self.settings.admission, self._agenda, self.result)
        self.pods = Pods(
            self.world, self.queue, self._agenda, self.result, frameworks, self._reachable, self.gate, use, observer
        )
        self.pods.scalers.create = lambda raw, now: self._arrival(happen.PodArrives(now, raw, replaced=True))(now)
        hopeless = Hopeless(scheduler, self.queue) if quick and registry is None else None
        loop_of = GroupLoop if configuration.release.groups else SchedulingLoop
        self.loop = loop_of(scheduler, self.pods, self.settings.cycle, hopeless)
        self._limit = self._last_event = 0.0
        controlled = self.settings.controllers
        comparing = configuration.release.on("TaintTolerationComparisonOperators")
        self.nodes = Nodes(self.pods, self.settings.lifecycle if controlled else None)
        self.kubelets = Kubelets(self.pods, self.nodes, comparing=comparing, controlled=controlled)
        self.pods.adopt()
        for pod in self.world.all_pods():
            replaced = self.settings.replaced and pod.controller is not None and not of_daemon_set(pod)
            life = self.pods.lives[pod.key] = Life(pod, pod, 0.0, bound=0.0, replaced=replaced)
            self.gate.there(pod)
            self.pods.observer.arrived(life, 0.0)
            self.pods.observer.bound(life, 0.0)
            if use is not None:
                use.came(pod, 0.0)
        for pod in start.pending:
            self._agenda.add(0.0, self._arrival(happen.PodArrives(0.0, pod.raw)))
        self._apart = self.settings.sample
        self._agenda.add(0.0, self._measure, looks=True)
        self._metered = use is not None
        if use is not None:
            self._agenda.add(0.0, self._metering(use), looks=True)
        self._enter(events)
        self._autoscaled = autoscaler is not None
        if autoscaler is not None:
            autoscaler.begin(Hands(configuration, self.pods, self.nodes, self._join, self._leave, self._created))
        self.descheduling = None if descheduler is None else Descheduling(descheduler, self.pods, self._agenda)

    def _created(self, raw: Json, now: float) -> None:
        """A controller creates a pod."""
        self._arrival(happen.PodArrives(now, raw))(now)

    def _reachable(self, node: str) -> bool:
        return self.nodes.reachable(node)

    def run(self, until: float) -> Result:
        """Let time pass to ``until`` (seconds); may be called again with a later time. Raises SimulationError."""
        self._limit = until
        while (time := self._next_time()) is not None and time <= until:
            self._step(time)
        return self._ended(until)

    def evict(self, key: str, reason: str) -> None:
        """Evict the pod ``namespace/name``, which is on a node, when time goes on; raises KeyError if there is none."""
        life = self.pods.lives[key]
        self._agenda.add(self.now, lambda now: self.pods.evict(life, reason, now))

    def _evict_pod(self, key: str, now: float) -> None:
        life = self.pods.lives.get(key)
        if life is not None and life.bound is not None:
            self.pods.evict(life, EVICTED, now, EVICTION_API)

    def run_until_quiet(self, limit: float) -> Result:
        """Let time pass until nothing more will come of the events, or to ``limit``; see ``run``.

        Pods may wait still that fit nowhere. Where a node is in trouble, tries end in errors, or real use is measured,
        ten minutes without a change count as the end. A descheduler is waited for, twenty of its rounds after the last
        event at most.
        """
        self._limit = limit
        if self.descheduling is not None:
            self.descheduling.after = self._last_event
        state, since = self._state(), self.now
        while (time := self._next_time()) is not None and time <= limit:
            if not self._is_awaiting(since):
                if self._is_at_rest():
                    break
                if time > (settled := max(self.now, since + SETTLED)):
                    return self._ended(settled)
            self._step(time)
            if (now := self._state()) != state:
                state, since = now, time
        return self._ended(self.now)

    def _step(self, time: float) -> None:
        self.now = time
        self._agenda.do_due(time)
        self.nodes.pass_time(time)
        if not self._agenda.due or not self.loop.repeat(time, self._next_other(time)):
            self.queue.flush(time)
            self.loop.work(time)
        self.pods.observer.passed(time)

    def _state(self) -> tuple[int, ...]:
        """Differs once anything has changed in the cluster."""
        return len(self.result.bound), len(self.result.evicted), self.result.completed, len(self.pods.lives)

    def _is_awaiting(self, since: float) -> bool:
        """Return whether events, evictions or rounds of the descheduler are still to come after the last change."""
        if self._agenda.due or self.pods.eviction.next_due() is not None:
            return True
        return self.descheduling is not None and not self.descheduling.at_rest(since)

    def _is_at_rest(self) -> bool:
        """Return whether nothing that goes on could change the cluster."""
        watched = self.settings.settles or self._metered or self.pods.scalers or self._autoscaled
        return self.nodes.at_rest and not (self.queue.ready or len(self.queue.backoff) or watched)

    def _ended(self, now: float) -> Result:
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
        """When something happens next beside tries of pods that have waited for long; the end at the latest."""
        times = (self._agenda.next_time, self.nodes.next_time(now), self.queue.next_flush(now), self._limit)
        return min(time for time in times if time is not None)

    def _measure(self, now: float) -> None:
        bound, unknown = len(self.world.snapshot.pods.slots), self.nodes.unknown_pods
        sample = Sample(now, len(self.world.nodes), bound, *self.queue.counts(), unknown, self.world.use())
        self.result.samples.append(sample)
        if len(self.result.samples) >= self.settings.most_samples:
            del self.result.samples[1::2]
            self._apart *= 2
        self._agenda.add(self.result.samples[-1].time + self._apart, self._measure, looks=True)

    def _metering(self, use: UseModel) -> Callable[[float], None]:
        def meter(now: float) -> None:
            measured = use.measured(now)
            self.world.measured(measured)
            self.pods.observer.measured(measured, now)
            if (node := next(iter(self.world.nodes.values()), None)) is not None:
                # Figures come with nodes, as annotations do: a pod that was rejected for the old ones may fit now.
                self.queue.move(MEASURED, node, node, now)
            self._agenda.add(now + use.interval, meter, looks=True)

        return meter

    # What happens from outside.

    def _enter(self, listed: Iterable[happen.Event]) -> None:
        handlers: dict[type, Callable[[Any], Callable[[float], None]]] = {
            happen.PodArrives: self._arrival,
            happen.PodChanges: lambda event: lambda now: self._change_pod(event, now),
            happen.PodLeaves: lambda event: lambda now: self._delete_pod(event, now),
            happen.PodIsEvicted: lambda event: lambda now: self._evict_pod(event.pod, now),
            happen.ScalerComes: lambda event: lambda now: self.pods.scalers.begin(event.scaler, now),
            happen.WorkloadScales: (
                lambda event: lambda now: self.pods.scalers.scale(event.workload, event.replicas, now)
            ),
            happen.WorkloadLeaves: lambda event: lambda now: self.pods.scalers.end(event.workload, now),
            happen.PodGroupArrives: lambda event: lambda now: self._put_group(event.group, now, there=False),
            happen.PodGroupChanges: lambda event: lambda now: self._put_group(event.group, now, there=True),
            happen.PodGroupLeaves: lambda event: lambda now: self._delete_group(event.group, now),
            happen.PermitAllows: lambda event: lambda now: self.loop.allow(event.pod, event.plugin, now),
            happen.PermitRejects: lambda event: (
                lambda now: self.loop.reject(event.pod, event.plugin, event.reason, now)
            ),
            happen.NodeJoins: lambda event: lambda now: self._join(event.node, now),
            happen.NodeLeaves: lambda event: lambda now: self._leave(event.node, now),
            happen.NodeChanges: lambda event: lambda now: self._change_node(event, now),
            happen.NodeDrains: lambda event: lambda now: self.nodes.drain(self._node(event.node), now),
            happen.NodeReports: lambda event: (
                lambda now: self._report(event.node, {READY: TRUE if event.ready else FALSE}, now)
            ),
            happen.NodeConditions: lambda event: lambda now: self._report(event.node, event.conditions, now),
            happen.NodeFallsSilent: lambda event: lambda now: self.nodes.lifecycle.silence(self._node(event.node), now),
        }
        for event in sorted(listed, key=lambda one: one.time):
            if event.time < 0:
                raise SimulationError(f"{type(event).__name__} at {event.time:g} s: is before the beginning")
            self._last_event = event.time
            self._agenda.add(event.time, self._guarded(event, handlers[type(event)](event)))

    @staticmethod
    def _guarded(event: happen.Event, action: Callable[[float], None]) -> Callable[[float], None]:
        def guarded(now: float) -> None:
            try:
                action(now)
            except (ObjectError, SimulationError) as problem:
                raise SimulationError(f"{type(event).__name__} at {event.time:g} s: {problem}") from None

        return guarded

    def _arrival(self, event: happen.PodArrives) -> Callable[[float], None]:
        def arrive(now: float) -> None:
            pod, stored = event.pod, isinstance(event.pod, Pod)
            if not isinstance(pod, Pod):
                try:
                    pod = Pod.read(admit(pod, self.world.cluster, self.settings.admission))
                except AdmissionError as problem:
                    self.result.refused.append((now, str(problem)))
                    return
                except ObjectError as problem:
                    raise SimulationError(f"{reference(event.pod)}: {problem}") from None
            if pod.key in self.pods.lives:
                raise SimulationError(f"Pod {pod.key}: is there already")
            pod = pod.counted(self._counting)
            self.gate.enter(pod, lambda time: self._come(pod, event, time), now, checked=stored)

        return arrive

    def _come(self, pod: Pod, event: happen.PodArrives, now: float) -> None:
        life = Life(pod, pod, now, event.duration, event.replaced)
        if pod.node_name:
            self.kubelets.come(life, now)
        else:
            self.pods.arrive(life, now)

    def _change_pod(self, event: happen.PodChanges, now: float) -> None:
        new = Pod.read(admit(event.pod, self.world.cluster, self.settings.admission)).counted(self._counting)
        if event.if_there and new.key not in self.pods.lives:
            return
        node = self._life(new.key).pod.node_name
        self.pods.change(new.on(node) if node else new, now)

    def _delete_pod(self, event: happen.PodLeaves, now: float) -> None:
        key = self.pods.heir(event.pod)
        if self.gate.withdraw(key):
            return
        if key in self.pods.lives or not event.if_there:
            self.pods.delete(self._life(key), now)

    def _put_group(self, raw: Json, now: float, *, there: bool) -> None:
        group = PodGroup.read(admit_group(raw, self.world.cluster))
        known = self.world.cluster.groups.get(group.key)
        if there != (known is not None):
            raise SimulationError(f"PodGroup {group.key}: is {'not there' if there else 'there already'}")
        if known is not None:
            group = replace(group, scheduled=known.scheduled)
        self.world.cluster.groups.put(group)
        if isinstance(self.queue, GroupQueue):
            self.queue.follow_group(known, group, now)

    def _delete_group(self, key: str, now: float) -> None:
        group = self.world.cluster.groups.remove(key)
        if group is None:
            raise SimulationError(f"PodGroup {key}: is not there")
        if isinstance(self.queue, GroupQueue):
            self.queue.follow_group(group, None, now)

    def _life(self, key: str) -> Life:
        if key not in self.pods.lives:
            raise SimulationError(f"Pod {key}: is not there")
        return self.pods.lives[key]

    def _node(self, name: str) -> str:
        if name not in self.world.nodes:
            raise SimulationError(f"Node {name}: is not there")
        return name

    def _join(self, raw: Json, now: float) -> None:
        node = Node.read(self._seen.of_today(raw))
        if node.name in self.world.nodes:
            raise SimulationError(f"Node {node.name}: is there already")
        self.nodes.join(node, now)
        self.kubelets.heard(node.name, now)

    def _report(self, name: str, conditions: Mapping[str, str], now: float) -> None:
        self.nodes.report(self._node(name), conditions, now)
        if self.nodes.reachable(name):
            self.kubelets.heard(name, now)

    def _change_node(self, event: happen.NodeChanges, now: float) -> None:
        self._node(event.node)
        self.nodes.change(event, now)

    def _leave(self, name: str, now: float) -> None:
        self.loop.leave(self._node(name), now)
        self.nodes.leave(name, now)
