"""Scale workloads during a run, by changes and by HorizontalPodAutoscalers among its objects."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.controllers.autoscaling.cron import Cron, parse_cron
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler, Metric, read_autoscaler, read_behavior
from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.simulation import ScalerComes
from kschedweb.engine.simulation.scaling.events import Scaler
from kschedweb.engine.simulation.scaling.load import Load
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.workloads import SCALED
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster
from kschedweb.engine.studies.prepare.workloads import Workloads

KIND = "HorizontalPodAutoscaler"


class Autoscaling:
    """Start the scaling of workloads. ``measured`` says whether the use of pods is known where no load is given."""

    def __init__(self, cluster: ScenarioCluster, workloads: Workloads, *, measured: bool) -> None:
        self.cluster, self.workloads, self.measured = cluster, workloads, measured
        # Workloads whose load a change gives.
        self._loaded: set[str] = set()

    def autoscale_workload(self, action: parts.AutoscaleWorkload, at: float) -> None:
        """Scale the workload as a HorizontalPodAutoscaler does; raise PartError."""
        self._check_load_known(action.workload, action.load)
        behavior = None if action.behavior is None else read_behavior(action.behavior)
        metrics = (Metric(utilization=action.cpu),)
        scaler = Autoscaler(
            action.workload, action.workload, action.max_replicas, action.min_replicas, metrics, behavior
        )
        self._start_scaling(action.workload, at, action.startup, scaler=scaler, load=action.load)

    def schedule_workload(self, action: parts.CronWorkload, at: float) -> None:
        """Scale the workload at times of the day; raise PartError."""
        entries = tuple((entry.schedule, parse_cron(entry.schedule), entry.replicas) for entry in action.entries)
        self._start_scaling(action.workload, at, action.startup, entries=entries, load=action.load)

    def follow_autoscalers(self) -> None:
        """Follow the HorizontalPodAutoscalers among the objects at time 0.

        Those that cannot be followed get a note with the reason.
        """
        autoscalers = list(self._list_autoscalers())
        for scaler in autoscalers:
            try:
                self._check_load_known(scaler.target, None)
                # As with the HPA controller's condition AmbiguousSelector: autoscalers of one workload all do nothing.
                if sum(autoscaler.target == scaler.target for autoscaler in autoscalers) > 1:
                    raise PartError(f"{scaler.target} has more than one, and then none scales it")
                if scaler.target.split("/")[1] not in SCALED:
                    raise PartError(f"{scaler.target} is neither {' nor '.join(SCALED)}")
                if not self.workloads.is_scaled(scaler.target):
                    self._start_scaling(scaler.target, 0.0, 0.0, scaler=scaler)
            except (PartError, ObjectError) as problem:
                self.cluster.add_note(f"{KIND} {scaler.key}: is not followed: {problem}")
                continue
            for metric in scaler.metrics:
                if metric.unknown or metric.resource != "cpu":
                    metric_name = metric.unknown or metric.resource
                    self.cluster.add_note(
                        f"{KIND} {scaler.key}: its metric {metric_name} is not measured here, so it is never known"
                    )

    def _list_autoscalers(self) -> Iterator[Autoscaler]:
        for (kind, namespace, name), raw in self.cluster.others.items():
            if kind == KIND:
                try:
                    yield read_autoscaler(raw)
                except ObjectError as problem:
                    self.cluster.add_note(f"{KIND} {namespace or 'default'}/{name}: is not followed: {problem}")

    def _check_load_known(self, workload: str, load: parts.WorkloadLoad | None) -> None:
        if load is None and not self.measured and workload not in self._loaded:
            raise PartError("nothing is known of what its pods use: say its load, or what pods use (use)", "load")

    def _start_scaling(
        self,
        workload: str,
        at: float,
        startup: float,
        *,
        scaler: Autoscaler | None = None,
        entries: tuple[tuple[str, Cron, int], ...] = (),
        load: parts.WorkloadLoad | None = None,
    ) -> None:
        kind = self.workloads.hand_over_workload(workload, at, startup)
        if load is not None:
            self._loaded.add(workload)
        workload_scaler = Scaler(kind, scaler, entries, None if load is None else _create_load(load))
        self.cluster.events.append(ScalerComes(at, workload_scaler))


def _create_load(load: parts.WorkloadLoad) -> Load:
    if load.cores is None:
        steps = load.steps or ()
        return Load(tuple(step.at for step in steps), tuple(_parse_cores(step.cores) for step in steps))
    tide = load.tide or parts.Tide(1.0, 0.0)
    return Load((0.0,), (_parse_cores(load.cores),), tide.low, tide.peak)


def _parse_cores(text: str) -> float:
    return quantity.parse_quantity(text) / quantity.NANO
