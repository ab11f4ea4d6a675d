"""The use of pods and nodes as metrics.k8s.io reports it, worked out from the sandbox's time on each request."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.sandbox.api_objects import format_timestamp
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.sandbox.world import use_curves
from kschedweb.engine.sandbox.world.context import get_annotation
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.kubelets.nodes import is_silent
from kschedweb.engine.sandbox.world.pods import get_phase, uid_fraction
from kschedweb.engine.simulation.recorded_use import divide_capacity
from kschedweb.engine.simulation.recording import UseRecording
from kschedweb.engine.state.columns import Floats

WINDOW = "15s"
# Use of the machine itself: cores, and bytes.
SYSTEM_CPU, SYSTEM_MEMORY = 0.15, 400 * 2**20
# Assumed requests of containers without any: cores, and bytes.
LEAST_CPU, LEAST_MEMORY = 0.01, 16 * 2**20
# Seconds of the faster of a pod's own two waves.
RHYTHM = 540.0

Places = np.ndarray[tuple[int], np.dtype[np.intp]]


class SandboxUsage:
    """Computes what pods and nodes use.

    A pod names a pattern of use_curves.py in its annotation sandbox.kschedweb.dev/use. With a ``recording`` each
    workload follows one of its machines instead: it uses that share of the CPU it requests.
    """

    def __init__(self, store: Store, seed: int, recording: UseRecording | None = None) -> None:
        self._store, self._seed, self._recording = store, seed, recording

    def list_metrics(self, plural: str, namespace: str, time: float, now: float) -> Json:
        """Return the list of ``nodes``, or of ``pods`` in a namespace ("" for all), used at the sandbox's ``time``."""
        # As in metrics-server, a silent kubelet has no figures.
        nodes = [raw for raw in self._store.all(NODE) if not is_silent(raw)]
        names = {raw["metadata"]["name"]: place for place, raw in enumerate(nodes)}
        pods = [
            raw for raw in self._store.all(POD) if get_phase(raw) == "Running" and raw["spec"].get("nodeName") in names
        ]
        on = np.array([names[raw["spec"]["nodeName"]] for raw in pods], dtype=np.intp)
        room = [_parse_pair((raw.get("status") or {}).get("allocatable") or {}) for raw in nodes]
        cores, size = (np.array([pair[place] for pair in room], dtype=np.float64) for place in (0, 1))
        cpu, memory = self._compute_usage(pods, on, time, np.maximum(0.0, cores - SYSTEM_CPU), size)
        stamp = {"timestamp": format_timestamp(now), "window": WINDOW}
        if plural == "pods":
            items = [
                {
                    "metadata": _select_metadata(raw),
                    **stamp,
                    "containers": _container_metrics(raw, cpu[place], memory[place]),
                }
                for place, raw in enumerate(pods)
                if not namespace or raw["metadata"]["namespace"] == namespace
            ]
            return _metrics_list("PodMetricsList", items)
        of_pods = (np.bincount(on, weights=rows, minlength=len(nodes)) for rows in (cpu, memory))
        whole = [used + more for used, more in zip(of_pods, (SYSTEM_CPU, SYSTEM_MEMORY), strict=True)]
        items = [
            {"metadata": _select_metadata(raw), **stamp, "usage": _format_usage(whole[0][place], whole[1][place])}
            for place, raw in enumerate(nodes)
        ]
        return _metrics_list("NodeMetricsList", items)

    def _compute_usage(
        self, pods: list[Json], on: Places, time: float, cores: Floats, size: Floats
    ) -> tuple[Floats, Floats]:
        """Return cores and bytes of each pod, within what its node has."""
        if not pods:
            return np.zeros(0), np.zeros(0)
        requests = [pod_requests(raw) for raw in pods]
        wants_cpu, wants_memory = (np.array([pair[place] for pair in requests]) for place in (0, 1))
        names = [get_annotation(raw, "use") or "" for raw in pods]
        places = np.array(
            [
                use_curves.NAMES.index(name if name in use_curves.PATTERNS else use_curves.DEFAULT_PATTERN)
                for name in names
            ]
        )
        of_memory = np.array([pattern.memory for pattern in use_curves.PATTERNS.values()])[places]
        fractions = np.array([uid_fraction(raw["metadata"]["uid"]) for raw in pods])
        # Two waves of a pod's own length and phase keep pods of a workload apart.
        wave = np.sin(2 * np.pi * (time / (RHYTHM * (0.8 + fractions)) + fractions)) + np.sin(
            2 * np.pi * (time / 5400 + 7 * fractions)
        )
        cpu = wants_cpu * self._busy_shares(pods, places, fractions, wave, time)
        memory = wants_memory * np.minimum(0.98, of_memory * (0.9 + 0.2 * fractions) * (1 + 0.02 * wave))
        limits = np.array([pod_limits(raw) for raw in pods])
        cpu = np.minimum(cpu, limits[:, 0])
        memory = np.minimum(memory, limits[:, 1])
        used = divide_capacity(cpu, np.minimum(cpu, wants_cpu), on, cores)
        memory_used = divide_capacity(
            memory, np.minimum(memory, wants_memory), on, np.maximum(0.0, size - SYSTEM_MEMORY)
        )
        return used, memory_used

    def _busy_shares(self, pods: list[Json], places: Places, fractions: Floats, wave: Floats, time: float) -> Floats:
        """Return the share of its requested CPU that each pod uses."""
        if self._recording is None:
            level = use_curves.curves_at(self._seed, places, time + 3600 * (fractions - 0.5))
            return np.asarray(level * (0.75 + 0.5 * fractions) * np.maximum(0.1, 1 + 0.12 * wave))
        machines = np.array([int(uid_fraction(_workload_uid(raw)) * len(self._recording.names)) for raw in pods])
        percent, step = self._recording.percent, time % self._recording.seconds / self._recording.step
        before, part = int(step), step - int(step)
        after = (before + 1) % percent.shape[1]
        return np.asarray((percent[machines, before] * (1 - part) + percent[machines, after] * part) / 100)


def _workload_uid(pod: Json) -> str:
    """Return the uid of the pod's controller, else its own: pods of a workload are equally busy."""
    owner = get_controller_of(pod)
    return str(owner["uid"] if owner is not None else pod["metadata"]["uid"])


def pod_requests(pod: Json) -> tuple[float, float]:
    """Return cores and bytes that the pod's containers request."""
    requests = [
        _parse_pair(container.get("resources", {}).get("requests") or {}) for container in pod["spec"]["containers"]
    ]
    return max(LEAST_CPU, sum(pair[0] for pair in requests)), max(LEAST_MEMORY, sum(pair[1] for pair in requests))


def pod_limits(pod: Json) -> tuple[float, float]:
    """Return cores and bytes that the pod's containers may use; infinite if one of them has no limit."""
    limits = [container.get("resources", {}).get("limits") or {} for container in pod["spec"]["containers"]]
    whole = [
        sum(
            parse_quantity(str(container_limits[name])) / NANO if name in container_limits else np.inf
            for container_limits in limits
        )
        for name in ("cpu", "memory")
    ]
    return float(whole[0]), float(whole[1])


def _parse_pair(listed: Json) -> tuple[float, float]:
    return parse_quantity(str(listed.get("cpu", "0"))) / NANO, parse_quantity(str(listed.get("memory", "0"))) / NANO


def _select_metadata(raw: Json) -> Json:
    return {
        key: raw["metadata"][key]
        for key in ("name", "namespace", "creationTimestamp", "labels")
        if key in raw["metadata"]
    }


def _container_metrics(pod: Json, cpu: float, memory: float) -> list[Json]:
    """Divide the use of a pod among its containers by their requests."""
    names = [container["name"] for container in pod["spec"]["containers"]]
    requests = [
        _parse_pair(container.get("resources", {}).get("requests") or {}) for container in pod["spec"]["containers"]
    ]
    parts = [[max(pair[place], minimum) for pair in requests] for place, minimum in ((0, LEAST_CPU), (1, LEAST_MEMORY))]
    return [
        {
            "name": name,
            "usage": _format_usage(cpu * parts[0][at] / sum(parts[0]), memory * parts[1][at] / sum(parts[1])),
        }
        for at, name in enumerate(names)
    ]


def _format_usage(cpu: float, memory: float) -> Json:
    return {"cpu": f"{round(cpu * 1e9)}n", "memory": f"{round(memory / 1024)}Ki"}


def _metrics_list(kind: str, items: list[Json]) -> Json:
    return {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}
