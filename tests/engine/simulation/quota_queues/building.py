"""Short ways to write quota queues, jobs of pods, and simulations with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    Observer,
    PodArrives,
    Simulation,
    SimulationEvent,
    SimulationSettings,
    list_standard_actors,
)
from kschedweb.engine.simulation.pod_life import Departure, PodLife
from kschedweb.engine.simulation.quota_queues.actor import QueueingSetup, QuotaQueues
from kschedweb.engine.simulation.quota_queues.reports import JobReport, JobStep, QuotaReport
from kschedweb.engine.values import dataclass
from tests.engine.builders import CONFIGURATION, node, pod

KUEUE = "kueue.x-k8s.io/v1beta2"
QUEUE = "kueue.x-k8s.io/queue-name"


def flavor(name: str = "f", **spec: Any) -> Json:
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def queue(name: str, cpu: str, *, flavors: Iterable[str] = ("f",), limits: Json | None = None, **spec: Any) -> Json:
    """A ClusterQueue of the cohort ``team`` with as much CPU of each flavor."""
    quota = {"name": "cpu", "nominalQuota": cpu, **(limits or {})}
    listed = [{"name": name, "resources": [quota]} for name in flavors]
    body = {
        "namespaceSelector": {},
        "cohortName": "team",
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": listed}],
        **spec,
    }
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body}


def local_queue(name: str) -> Json:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def job(
    name: str, queue: str, count: int, cpu: str, *, at: float = 0.0, lasts: float | None = 100.0, **fields: Any
) -> list[PodArrives]:
    """The pods of a Job that come together; ``fields`` of their spec."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    events = []
    for number in range(count):
        raw = pod(f"{name}-{number}", requests={"cpu": cpu}, labels={QUEUE: queue}, **fields)
        raw["metadata"]["ownerReferences"] = [owner]
        events.append(PodArrives(at, raw, lasts, True))
    return events


def nodes(count: int, cpu: str = "4", **labels: str) -> list[Json]:
    return [node(f"n{number}", labels=labels, allocatable={"cpu": cpu}) for number in range(1, count + 1)]


@dataclass(eq=False)
class Diary(Observer):
    """Keeps what queues report, and when pods came to their nodes."""

    steps: list[tuple[float, str, JobStep, str]] = field(default_factory=list)
    # When a job was evicted, and for which other one.
    preemptions: list[tuple[float, str, str]] = field(default_factory=list)
    quotas: list[QuotaReport] = field(default_factory=list)
    bindings: dict[str, tuple[float, str]] = field(default_factory=dict)
    departures: dict[str, tuple[float, str]] = field(default_factory=dict)

    def reported(self, report: object, now: float) -> None:
        if isinstance(report, JobReport):
            self.steps.append((round(now, 1), report.job.partition("/")[2], report.step, report.text))
            if report.preemptor:
                victim, preemptor = (key.partition("/")[2] for key in (report.job, report.preemptor))
                self.preemptions.append((round(now, 1), victim, preemptor))
        if isinstance(report, QuotaReport):
            self.quotas.append(report)

    def bound(self, life: PodLife, now: float) -> None:
        self.bindings[life.pod.name] = round(now, 1), life.pod.node_name

    def departed(self, life: PodLife, why: Departure, text: str, now: float) -> None:
        self.departures[life.pod.name] = round(now, 1), text

    def times(self, job: str, step: JobStep) -> list[float]:
        return [time for time, name, taken, _ in self.steps if (name, taken) == (job, step)]


def simulate(
    objects: Iterable[Json], events: Iterable[SimulationEvent], *, end: float | None = None
) -> tuple[Diary, Simulation, QuotaQueues]:
    """Return the diary, the simulation at its end, and its queues."""
    listed, diary = list(objects), Diary()
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    actors = [*list_standard_actors(), QueueingSetup.from_objects(listed)]
    simulation = Simulation(listed, configuration, events, SimulationSettings(), actors, observer=diary)
    if end is None:
        simulation.run_until_quiet(1e6)
    else:
        simulation.run(end)
    queues = simulation.find_actor(QuotaQueues)
    assert queues is not None
    return diary, simulation, queues
