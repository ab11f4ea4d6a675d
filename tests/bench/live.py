"""Measuring a scheduler on the real API server: when each pod was created and bound, and whose work that was."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from kschedweb.engine.json_types import Json
from tests.support.controlplane import ControlPlane
from tests.support.processes import wait_until

PODS = "/api/v1/namespaces/default/pods"
TICKS = os.sysconf("SC_CLK_TCK")

# Two lines a pod, without bodies, so that the measure costs next to nothing and both schedulers the same.
MEASURING: Json = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create"],
            "resources": [{"group": "", "resources": ["pods", "pods/binding"]}],
        },
        {"level": "None"},
    ],
}


@dataclass
class Measured:
    """Results of a scheduler: ``rate`` in pods a second from the first to the last bound, ``median`` and ``p99`` of
    creation to bound in seconds, ``cpu`` in milliseconds a pod of each part.
    """

    pods: int
    seconds: float
    median: float
    p99: float
    arrivals: float  # pods created a second
    cpu: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return self.pods / self.seconds

    def shares(self) -> str:
        """Render the processor time of each part, a pod."""
        return ", ".join(f"{name} {spent:.2f} ms" for name, spent in self.cpu.items())


class Meter:
    """Follows the audit log from now on."""

    def __init__(self, plane: ControlPlane) -> None:
        self._log = plane.audit_log
        self._at = self._log.stat().st_size if self._log.exists() else 0
        self._rest = b""
        self.created: dict[str, float] = {}
        self.bound: dict[str, float] = {}

    def read(self) -> int:
        """Take in what is new; how many pods were bound so far."""
        with self._log.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if event["responseStatus"].get("code") == 201:
                place = event["objectRef"]
                into = self.bound if place.get("subresource") else self.created
                into[place["name"]] = datetime.fromisoformat(event["stageTimestamp"]).timestamp()
        return len(self.bound)


def measure(meter: Meter, names: list[str], begin: Callable[[], object], parts: Mapping[str, list[int]]) -> Measured:
    """Measure until all pods of ``names`` are bound, from when ``meter`` was made; ``begin`` sets it going.

    ``parts`` names processes by what they are.
    """
    bound_before, before, begun = meter.read(), spent(parts), time.time()
    begin()
    pod_count = len(names)
    # Nothing else is asked of the API server meanwhile: the audit log says when the last one is bound.
    wait_until(lambda: meter.read() >= pod_count, f"{pod_count} pods are bound", seconds=60 + pod_count / 10, step=0.2)
    after = spent(parts)
    waits = sorted(meter.bound[name] - meter.created[name] for name in names)
    times = sorted(when for when in meter.bound.values() if when >= begun)  # some may have been bound before a pause
    return Measured(
        pods=len(times),
        seconds=times[-1] - times[0],
        median=statistics.median(waits),
        p99=waits[int(0.99 * len(waits))],
        arrivals=pod_count / (max(meter.created.values()) - min(meter.created.values())),
        cpu={name: 1000 * (after[name] - before[name]) / (pod_count - bound_before) for name in parts},
    )


def spent(parts: Mapping[str, list[int]]) -> dict[str, float]:
    """Processor seconds of each part so far, of its processes and their children."""
    return {name: sum(_seconds(pid) for pid in pids) for name, pids in parts.items()}


def _seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(_seconds(int(child)) for child in children)


def children(name: str) -> list[int]:
    """This process's children that run the program ``name``."""
    pids = []
    for thread in Path("/proc/self/task").iterdir():
        for pid in (thread / "children").read_text().split():
            if Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]:
                pids.append(int(pid))
    return pids


def pod(name: str, scheduler: str) -> Json:
    requests = {"cpu": "10m", "memory": "32Mi"}
    container = {"name": "main", "image": "pause", "resources": {"requests": requests}}
    spec = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def create_paced(plane: ControlPlane, pods: list[Json], rate: float) -> None:
    """Create ``pods``, ``rate`` a second and not before their time; 0: as fast as they can be."""
    begun = time.monotonic()

    def create(numbered: tuple[int, Json]) -> None:
        number, raw_pod = numbered
        if rate:
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        plane.call("POST", PODS, raw_pod)

    plane.parallel(create, enumerate(pods))


def delete_pods(plane: ControlPlane) -> None:
    plane.call("DELETE", PODS, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
