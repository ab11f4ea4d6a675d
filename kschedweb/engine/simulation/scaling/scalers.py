"""Autoscalers and cron entries at work on the workloads of a simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from kschedweb.engine.controllers.autoscaling.cron import MONDAY, Cron
from kschedweb.engine.controllers.autoscaling.horizontal import SYNC, HorizontalController
from kschedweb.engine.controllers.autoscaling.replica_calculator import PodMetric
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.simulation.actors import Actor, Handler
from kschedweb.engine.simulation.agenda import Action
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.events import SimulationEvent
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.simulation.scaling.events import Scaler, ScalerComes, WorkloadLeaves, WorkloadScales
from kschedweb.engine.simulation.scaling.fleet import Fleet
from kschedweb.engine.simulation.scaling.load import Share
from kschedweb.engine.simulation.use import SharedUse, UseModel
from kschedweb.engine.state.watermarks.table import workload_of
from kschedweb.engine.values import dataclass

MILLI = 1000.0
BY_HAND, BY_CRON, ENTRY = "by hand", "cron", "cron entry {}"


@dataclass(frozen=True, slots=True)
class ScalingObservation:
    """A look at a scaled workload."""

    workload: str
    # Number of pods that were asked for before the look.
    before: int
    # Number of pods that are asked for after it.
    replicas: int
    # Number of pods that are ready.
    ready: int
    # Percent of requests; ``None`` if it is not known.
    utilization: int | None
    # The aim for it in percent; ``None`` if there is none.
    target: int | None
    # Why the number changes; "" if it does not.
    reason: str


@dataclass(eq=False)
class _ScaledWorkload:
    """A workload with its scaler, and the load that its pods share."""

    fleet: Fleet
    scaler: Scaler
    share: Share
    controller: HorizontalController | None = None


@dataclass(frozen=True, eq=False)
class ScalersSetup(ActorSetup):
    """The scalers of workloads, which come by events. ``use`` knows the load that pods of a workload share."""

    use: UseModel | None = None

    def join(self, context: SimulationContext) -> Actor:
        return Scalers(self.use, context)


@dataclass(eq=False)
class Scalers(Actor):
    """The scaled workloads of a simulation."""

    use: UseModel | None
    context: SimulationContext
    # True once an event says that a scaler comes.
    creates_pods: bool = False
    _watched: dict[str, _ScaledWorkload] = field(default_factory=dict)

    @property
    def handlers(self) -> Mapping[type[SimulationEvent], Handler]:
        return {
            ScalerComes: self._expect_scaler,
            WorkloadScales: lambda event: lambda now: self.scale_workload(event.workload, event.replicas, now),
            WorkloadLeaves: lambda event: lambda now: self.end_workload(event.workload, now),
        }

    def _expect_scaler(self, event: ScalerComes) -> Action:
        self.creates_pods = True
        return lambda now: self.start_scaler(event.scaler, now)

    @property
    def is_watching(self) -> bool:
        return bool(self._watched)

    # What the simulation tells of its pods.

    def on_pod_added(self, life: PodLife, now: float) -> None:
        """Add a pod to its workload."""
        if self._watched and (watched := self._find_watched(life)) is not None:
            watched.fleet.lives[life.pod.key] = life

    def on_pod_removed(self, life: PodLife, now: float) -> None:
        """Remove a pod from its workload."""
        if self._watched and (watched := self._find_watched(life)) is not None:
            watched.fleet.lives.pop(life.pod.key, None)

    def startup_seconds(self, life: PodLife) -> float:
        """Return how long the pod, which is on its node now, takes to be ready."""
        watched = self._find_watched(life) if self._watched else None
        return 0.0 if watched is None else watched.fleet.kind.startup

    def _find_watched(self, life: PodLife) -> _ScaledWorkload | None:
        return self._watched.get(workload_of(life.pod, self.context.pods.world.cluster) or "")

    # What happens to workloads.

    def start_scaler(self, scaler: Scaler, now: float) -> None:
        """Let ``scaler`` scale its workload from now on, in place of another one."""
        name = scaler.kind.workload
        before = self._watched.get(name)
        if before is None:
            self._watched[name] = watched = _ScaledWorkload(Fleet(scaler.kind, 0), scaler, Share(scaler.load, 0))
            for life in self.context.pods.lives.values():
                self.on_pod_added(life, now)
            watched.fleet.replicas = len(watched.fleet.active)
            watched.share = self._share_use(watched, now)
        else:
            watched = _ScaledWorkload(before.fleet, scaler, before.share)
            watched.fleet.kind = scaler.kind
            if scaler.load is not None:
                watched.share = self._share_use(watched, now)
            self._watched[name] = watched
        if scaler.autoscaler is not None:
            watched.controller = HorizontalController(scaler.autoscaler)
        self._evaluate(watched, now)
        for entry in scaler.entries:
            self._await_entry(watched, entry, now)

    def scale_workload(self, workload: str, replicas: int, now: float) -> None:
        """Scale a workload by hand that has a scaler."""
        watched = self._watched[workload]
        self._set_replicas(watched, replicas, BY_HAND, now, None)

    def end_workload(self, workload: str, now: float) -> None:
        """Delete the workload with its pods."""
        watched = self._watched.pop(workload)
        for life in watched.fleet.active:
            self.context.pods.delete_pod(life, now)

    def _share_use(self, watched: _ScaledWorkload, now: float) -> Share:
        """Work out what the workload's pods share from now on, and tell the model of use."""
        pods = [life.pod for life in watched.fleet.active]
        limits = {pod.limits.get(CPU, 0) / MILLI or math.inf for pod in pods}
        share = Share(watched.scaler.load, len(pods), max(limits, default=math.inf))
        if isinstance(self.use, SharedUse):
            self.use.share(watched.fleet.kind.workload, share, pods, now)
        return share

    # Looks.

    def _is_current(self, watched: _ScaledWorkload) -> bool:
        return self._watched.get(watched.fleet.kind.workload) is watched

    def _evaluate(self, watched: _ScaledWorkload, now: float) -> None:
        if not self._is_current(watched):
            return
        if watched.controller is None:
            self._set_replicas(watched, watched.fleet.replicas, "", now, None)
        else:
            fleet = watched.fleet
            look = watched.controller.reconcile(
                fleet.replicas, fleet.observe_pods(now), {CPU: self._measure_pods(watched, now)}, now
            )
            self._set_replicas(watched, look.replicas, look.reason, now, look.utilization)
        self.context.schedule_background(now + SYNC, lambda time: self._evaluate(watched, time))

    def _measure_pods(self, watched: _ScaledWorkload, now: float) -> dict[str, PodMetric]:
        """Return what metrics-server reports: the load is divided evenly among the ready pods."""
        taking = watched.fleet.ready_lives(now)
        per_pod = min(self._total_load(watched, now) / max(1, len(taking)), watched.share.max_cores)
        value = {life.pod.key: round(per_pod * MILLI) for life in taking}
        return {
            life.pod.key: PodMetric(value.get(life.pod.key, 0), now, SYNC)
            for life in watched.fleet.active
            # metrics-server has no figures of a pod before its first scrape.
            if life.bound is not None and life.bound + SYNC <= now
        }

    def _total_load(self, watched: _ScaledWorkload, now: float) -> float:
        if watched.share.load is not None:
            return watched.share.load.cores_at(now)
        return self.use.shared(watched.fleet.kind.workload, now) if isinstance(self.use, SharedUse) else 0.0

    def _await_entry(self, watched: _ScaledWorkload, entry: tuple[str, Cron, int], now: float) -> None:
        text, schedule, replicas = entry
        due = schedule.next_after(now, MONDAY)
        if due is None:
            return

        def apply_entry(time: float) -> None:
            if self._is_current(watched):
                self._set_replicas(watched, replicas, ENTRY.format(text), time, None)
                self._await_entry(watched, entry, time)

        self.context.schedule_background(due, apply_entry)

    # What follows.

    def _set_replicas(
        self, watched: _ScaledWorkload, replicas: int, reason: str, now: float, utilization: int | None
    ) -> None:
        """Ask for ``replicas`` from now on; the workload's own controller creates and deletes pods."""
        before, watched.fleet.replicas = watched.fleet.replicas, replicas
        self._report_scaling(watched, before, reason if before != replicas else "", now, utilization)
        self._reconcile_pods(watched, now)

    def _reconcile_pods(self, watched: _ScaledWorkload, now: float) -> None:
        fleet = watched.fleet
        for life in fleet.list_surplus(now):
            self.context.pods.delete_pod(life, now)
            if self.use is not None and life.leaves is not None:
                # No more requests reach a pod that is terminating.
                self.use.remove_pod(life.pod, now)
        for raw in fleet.missing_pods(self.context.pods.lives.__contains__):
            self.context.create_pod(raw, now, replaced=True)

    def _report_scaling(
        self, watched: _ScaledWorkload, before: int, reason: str, now: float, utilization: int | None
    ) -> None:
        fleet, scaler = watched.fleet, watched.scaler.autoscaler
        metrics = scaler.metrics if scaler else ()
        target = next((metric.utilization for metric in metrics if metric.utilization and metric.resource == CPU), None)
        ready = len(fleet.ready_lives(now))
        self.context.report(
            ScalingObservation(fleet.kind.workload, before, fleet.replicas, ready, utilization, target, reason), now
        )
