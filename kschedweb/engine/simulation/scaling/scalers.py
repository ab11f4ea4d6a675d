"""Autoscalers and cron entries at work on the workloads of a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field

from kschedweb.engine.controllers.autoscaling.controller import SYNC, Controller
from kschedweb.engine.controllers.autoscaling.cron import MONDAY, Cron
from kschedweb.engine.controllers.autoscaling.replicas import Measured
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.simulation.agenda import Agenda
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.simulation.observer import Observer, Scaled
from kschedweb.engine.simulation.scaling.fleet import Fleet, Kind
from kschedweb.engine.simulation.scaling.load import Load, Share
from kschedweb.engine.simulation.use import SharedUse, UseModel
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.watermarks.table import workload_of
from kschedweb.engine.values import dataclass

MILLI = 1000.0
BY_HAND, BY_CRON, ENTRY = "by hand", "cron", "cron entry {}"


@dataclass(frozen=True, slots=True)
class Scaler:
    """Who scales a workload from now on: an ``autoscaler``, or ``entries`` of expression, schedule and replicas.

    Its pods share ``load``, or else what those that there are now would use.
    """

    kind: Kind
    autoscaler: Autoscaler | None = None
    entries: tuple[tuple[str, Cron, int], ...] = ()
    load: Load | None = None


@dataclass(eq=False)
class _Watched:
    """A workload with who scales it, and what its pods share."""

    fleet: Fleet
    scaler: Scaler
    share: Share
    controller: Controller | None = None


@dataclass(eq=False)
class Scalers:
    """``create`` and ``delete`` are how pods come and go; ``lives`` are all pods of the simulation."""

    lives: Mapping[str, Life]
    objects: ClusterObjects
    agenda: Agenda
    observer: Observer
    use: UseModel | None
    delete: Callable[[Life, float], None]
    create: Callable[[Json, float], None] = lambda raw, now: None
    _watched: dict[str, _Watched] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._watched)

    # What the simulation tells of its pods.

    def joined(self, life: Life) -> None:
        """A pod is there."""
        if self._watched and (one := self._of(life)) is not None:
            one.fleet.lives[life.pod.key] = life

    def gone(self, life: Life) -> None:
        """A pod is there no more."""
        if self._watched and (one := self._of(life)) is not None:
            one.fleet.lives.pop(life.pod.key, None)

    def startup(self, life: Life) -> float:
        """How long the pod, which is on its node now, takes to be ready."""
        one = self._of(life) if self._watched else None
        return 0.0 if one is None else one.fleet.kind.startup

    def _of(self, life: Life) -> _Watched | None:
        return self._watched.get(workload_of(life.pod, self.objects) or "")

    # What happens to workloads.

    def begin(self, scaler: Scaler, now: float) -> None:
        """``scaler`` looks after its workload from now on, in place of another one."""
        name = scaler.kind.workload
        before = self._watched.get(name)
        if before is None:
            self._watched[name] = found = _Watched(Fleet(scaler.kind, 0), scaler, Share(scaler.load, 0))
            for life in self.lives.values():
                self.joined(life)
            found.fleet.replicas = len(found.fleet.active)
            found.share = self._shared(found, now)
        else:
            found = _Watched(before.fleet, scaler, before.share)
            found.fleet.kind = scaler.kind
            if scaler.load is not None:
                found.share = self._shared(found, now)
            self._watched[name] = found
        if scaler.autoscaler is not None:
            found.controller = Controller(scaler.autoscaler)
        self._look(found, now)
        for entry in scaler.entries:
            self._await(found, entry, now)

    def scale(self, workload: str, replicas: int, now: float) -> None:
        """Somebody scales a workload that a scaler looks after."""
        found = self._watched[workload]
        self._ask(found, replicas, BY_HAND, now, None)

    def end(self, workload: str, now: float) -> None:
        """The workload goes with its pods."""
        found = self._watched.pop(workload)
        for life in found.fleet.active:
            self.delete(life, now)

    def _shared(self, found: _Watched, now: float) -> Share:
        """What its pods share from now on; the model of use is told of it."""
        pods = [life.pod for life in found.fleet.active]
        limits = {pod.limits.get(CPU, 0) / MILLI or math.inf for pod in pods}
        share = Share(found.scaler.load, len(pods), max(limits, default=math.inf))
        if isinstance(self.use, SharedUse):
            self.use.share(found.fleet.kind.workload, share, pods, now)
        return share

    # Looks.

    def _current(self, found: _Watched) -> bool:
        return self._watched.get(found.fleet.kind.workload) is found

    def _look(self, found: _Watched, now: float) -> None:
        if not self._current(found):
            return
        if found.controller is None:
            self._ask(found, found.fleet.replicas, "", now, None)
        else:
            fleet = found.fleet
            look = found.controller.look(fleet.replicas, fleet.seen(now), {CPU: self._measured(found, now)}, now)
            self._ask(found, look.replicas, look.reason, now, look.utilization)
        self.agenda.add(now + SYNC, lambda time: self._look(found, time), looks=True)

    def _measured(self, found: _Watched, now: float) -> dict[str, Measured]:
        """What metrics-server says: the load is divided evenly among the pods that are ready."""
        taking = found.fleet.ready(now)
        each = min(self._load(found, now) / max(1, len(taking)), found.share.most)
        value = {life.pod.key: round(each * MILLI) for life in taking}
        return {
            life.pod.key: Measured(value.get(life.pod.key, 0), now, SYNC)
            for life in found.fleet.active
            if life.bound is not None and life.bound + SYNC <= now
        }

    def _load(self, found: _Watched, now: float) -> float:
        if found.share.load is not None:
            return found.share.load.at(now)
        return self.use.shared(found.fleet.kind.workload, now) if isinstance(self.use, SharedUse) else 0.0

    def _await(self, found: _Watched, entry: tuple[str, Cron, int], now: float) -> None:
        text, schedule, replicas = entry
        due = schedule.after(now, MONDAY)
        if due is None:
            return

        def ask(time: float) -> None:
            if self._current(found):
                self._ask(found, replicas, ENTRY.format(text), time, None)
                self._await(found, entry, time)

        self.agenda.add(due, ask, looks=True)

    # What follows.

    def _ask(self, found: _Watched, replicas: int, reason: str, now: float, utilization: int | None) -> None:
        """``replicas`` are asked for from now on, and the workload's own controller sees to it."""
        before, found.fleet.replicas = found.fleet.replicas, replicas
        self._tell(found, before, reason if before != replicas else "", now, utilization)
        self._reconcile(found, now)

    def _reconcile(self, found: _Watched, now: float) -> None:
        fleet = found.fleet
        for life in fleet.surplus(now):
            self.delete(life, now)
            if self.use is not None and life.leaves is not None:
                self.use.left(life.pod, now)  # no more requests reach it
        for raw in fleet.missing(self.lives.__contains__):
            self.create(raw, now)

    def _tell(self, found: _Watched, before: int, reason: str, now: float, utilization: int | None) -> None:
        fleet, scaler = found.fleet, found.scaler.autoscaler
        metrics = scaler.metrics if scaler else ()
        target = next((one.utilization for one in metrics if one.utilization and one.resource == CPU), None)
        ready = len(fleet.ready(now))
        self.observer.scaled(
            Scaled(fleet.kind.workload, before, fleet.replicas, ready, utilization, target, reason), now
        )
