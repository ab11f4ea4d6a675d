"""Workloads that are scaled while a scenario runs: by changes, and by HorizontalPodAutoscalers among its objects."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.controllers.autoscaling.cron import Cron, parse
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler, Metric, read, read_behavior
from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.simulation import ScalerComes
from kschedweb.engine.simulation.scaling.load import Load
from kschedweb.engine.simulation.scaling.scalers import Scaler
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.workloads import SCALED
from kschedweb.engine.studies.prepare.cluster import Cluster
from kschedweb.engine.studies.prepare.workloads import Workloads

KIND = "HorizontalPodAutoscaler"


class Autoscaling:
    """Has workloads scaled; ``measured`` says whether it is known what pods use where no load is given."""

    def __init__(self, cluster: Cluster, workloads: Workloads, *, measured: bool) -> None:
        self.cluster, self.workloads, self.measured = cluster, workloads, measured
        self._loaded: set[str] = set()  # workloads whose load a change says

    def autoscale(self, action: parts.AutoscaleWorkload, at: float) -> None:
        """Scale as a HorizontalPodAutoscaler; raises PartError."""
        self._known(action.workload, action.load)
        behavior = None if action.behavior is None else read_behavior(action.behavior)
        metrics = (Metric(utilization=action.cpu),)
        scaler = Autoscaler(action.workload, action.workload, action.most, action.least, metrics, behavior)
        self._begin(action.workload, at, action.startup, scaler=scaler, load=action.load)

    def schedule(self, action: parts.CronWorkload, at: float) -> None:
        """Scale at times of the day; raises PartError."""
        entries = tuple((one.schedule, parse(one.schedule), one.replicas) for one in action.entries)
        self._begin(action.workload, at, action.startup, entries=entries, load=action.load)

    def follow(self) -> None:
        """Follow the autoscalers among the objects at time 0; notes say of which that is not possible, and why."""
        found = list(self._listed())
        for scaler in found:
            try:
                self._known(scaler.target, None)
                if sum(one.target == scaler.target for one in found) > 1:
                    raise PartError(f"{scaler.target} has more than one, and then none scales it")
                if scaler.target.split("/")[1] not in SCALED:
                    raise PartError(f"{scaler.target} is neither {' nor '.join(SCALED)}")
                if not self.workloads.is_scaled(scaler.target):
                    self._begin(scaler.target, 0.0, 0.0, scaler=scaler)
            except (PartError, ObjectError) as problem:
                self.cluster.note(f"{KIND} {scaler.key}: is not followed: {problem}")
                continue
            for metric in scaler.metrics:
                if metric.unknown or metric.resource != "cpu":
                    said = metric.unknown or metric.resource
                    self.cluster.note(
                        f"{KIND} {scaler.key}: its metric {said} is not measured here, so it is never known"
                    )

    def _listed(self) -> Iterator[Autoscaler]:
        for (kind, namespace, name), raw in self.cluster.others.items():
            if kind == KIND:
                try:
                    yield read(raw)
                except ObjectError as problem:
                    self.cluster.note(f"{KIND} {namespace or 'default'}/{name}: is not followed: {problem}")

    def _known(self, workload: str, load: parts.LoadOf | None) -> None:
        if load is None and not self.measured and workload not in self._loaded:
            raise PartError("nothing is known of what its pods use: say its load, or what pods use (use)", "load")

    def _begin(
        self,
        workload: str,
        at: float,
        startup: float,
        *,
        scaler: Autoscaler | None = None,
        entries: tuple[tuple[str, Cron, int], ...] = (),
        load: parts.LoadOf | None = None,
    ) -> None:
        kind = self.workloads.handed_over(workload, at, startup)
        if load is not None:
            self._loaded.add(workload)
        made = Scaler(kind, scaler, entries, None if load is None else _load(load))
        self.cluster.events.append(ScalerComes(at, made))


def _load(load: parts.LoadOf) -> Load:
    if load.cores is None:
        steps = load.steps or ()
        return Load(tuple(step.at for step in steps), tuple(_cores(step.cores) for step in steps))
    tide = load.tide or parts.Tide(1.0, 0.0)
    return Load((0.0,), (_cores(load.cores),), tide.low, tide.peak)


def _cores(text: str) -> float:
    return quantity.parse(text) / quantity.NANO
