"""A day of a large cluster: services that stay, jobs that come by the hour, a rolling drain and some failures.

What jobs ask for and how long they run is drawn from a recorded cluster (openb); everything else is made up, and the
same for the same seed.
"""

from __future__ import annotations

import csv
import gzip
import math
import random
from dataclasses import dataclass
from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.controllers.admission import admit_pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeDrains,
    NodeFallsSilent,
    NodeReports,
    PodArrives,
    SimulationEvent,
    make_replica,
)
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.data import DATA

DAY, HOUR = 86400.0, 3600.0
CPU, MEMORY = 32, 128  # of a node, cores and GiB
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class Recorded:
    """One recorded pod: milli-CPU, MiB, seconds."""

    cpu: int
    memory: int
    duration: float


def recorded() -> list[Recorded]:
    """The pods of the recorded cluster that ended, and that take up three quarters of a node here at most."""
    with gzip.open(DATA / "openb_pod_list_default.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ended = [
        Recorded(
            int(row["cpu_milli"]), int(row["memory_mib"]), float(row["deletion_time"]) - float(row["scheduled_time"])
        )
        for row in rows
        if row["deletion_time"] and row["scheduled_time"]
    ]
    return [pod for pod in ended if pod.cpu <= 750 * CPU and pod.memory <= 768 * MEMORY]


def nodes(count: int) -> list[Json]:
    """Nodes of 32 CPU, 128 GiB and 110 pods in three zones."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{number:05}",
                "labels": {"kubernetes.io/hostname": f"node-{number:05}", ZONE: f"zone-{number % 3}"},
            },
            "spec": {},
            "status": {
                "allocatable": {"cpu": str(CPU), "memory": f"{MEMORY}Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for number in range(count)
    ]


def template(name: str, cpu: int, memory: int, **spec: Any) -> Pod:
    """A pod to make others like it of, as admission leaves it. milli-CPU and MiB."""
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": f"registry.example/{name}:v1",
                    "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}},
                }
            ],
            **spec,
        },
    }
    return Pod.from_json(admit_pod(raw, ClusterObjects()))


def _services(random_: random.Random, pods: int) -> list[SimulationEvent]:
    """Deployments that are there from the first minutes on: every third one spread over the zones."""
    events: list[SimulationEvent] = []
    number = 0
    while len(events) < pods:
        number += 1
        size = min(random_.randint(20, 300), pods - len(events))
        name = f"service-{number}"
        spec: dict[str, Any] = {}
        if number % 3 == 0:
            spread = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
            spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {"app": name}}}]
        pod_template = template(
            name, random_.choice([500, 1000, 2000, 4000]), random_.choice([1024, 4096, 8192]), **spec
        )
        begin = random_.uniform(0, 600)
        events += [
            PodArrives(begin + 0.01 * turn, make_replica(pod_template, f"{name}-{turn}"), None, True)
            for turn in range(size)
        ]
    return events


def _jobs(random_: random.Random, pods: int, shapes: list[Recorded]) -> list[SimulationEvent]:
    """Jobs of alike pods, three times as many at the busiest hour as at the quietest."""
    events: list[SimulationEvent] = []
    number = 0
    while len(events) < pods:
        number += 1
        at = random_.uniform(0, DAY)
        if random_.uniform(0, 1.5) > 1 - 0.5 * math.cos(2 * math.pi * (at / HOUR - 3) / 24):
            continue
        size = min(max(1, int(random_.expovariate(1 / 8))), pods - len(events))
        shape = random_.choice(shapes)
        pod_template = template(f"job-{number}", shape.cpu, shape.memory)
        duration = min(shape.duration, DAY) * random_.uniform(0.8, 1.25)
        events += [
            PodArrives(at, make_replica(pod_template, f"job-{number}-{turn}"), duration, True) for turn in range(size)
        ]
    return events


def day(*, count: int, jobs: int, services: int, drained: int, failures: int, seed: int = 1) -> list[SimulationEvent]:
    """The events of a day on ``nodes(count)``: how many pods of each kind, how many nodes drained and failing."""
    random_ = random.Random(seed)
    events = _services(random_, services) + _jobs(random_, jobs, recorded())
    for turn in range(drained):  # one after the other through the night
        name, at = f"node-{turn:05}", HOUR + turn * 4 * HOUR / max(drained, 1)
        events += [NodeDrains(at, name), NodeChanges(at + 600, name, unschedulable=False)]
    for name in random_.sample([f"node-{number:05}" for number in range(drained, count)], failures):
        at = random_.uniform(0, DAY - HOUR)
        events += [NodeFallsSilent(at, name), NodeReports(at + random_.uniform(120, 1800), name, ready=True)]
    return events
