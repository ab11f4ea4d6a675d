"""What pods and nodes use, as metrics.k8s.io answers it: worked out from the sandbox's time, for whoever asks."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.quantity import NANO, parse
from kschedweb.engine.sandbox.objects import timestamp
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.sandbox.world import curves
from kschedweb.engine.sandbox.world.context import annotation
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.kubelets.nodes import silent
from kschedweb.engine.sandbox.world.pods import phase, share
from kschedweb.engine.simulation.recorded import divided
from kschedweb.engine.simulation.recording import Recording
from kschedweb.engine.state.columns import Floats

WINDOW = "15s"
SYSTEM_CPU, SYSTEM_MEMORY = 0.15, 400 * 2**20  # what the machine itself uses: cores, and bytes
LEAST_CPU, LEAST_MEMORY = 0.01, 16 * 2**20  # what a container is taken to ask for that asks for nothing
RHYTHM = 540.0  # seconds of the faster of a pod's own two waves

Places = np.ndarray[tuple[int], np.dtype[np.intp]]


class Use:
    """Pods say what they are like in the annotation sandbox.kschedweb.dev/use, a name of a pattern in curves.py.

    Where there is a ``recording`` each workload follows one of its machines instead: that much of the CPU it requests.
    """

    def __init__(self, store: Store, seed: int, recording: Recording | None = None) -> None:
        self._store, self._seed, self._recording = store, seed, recording

    def metrics(self, what: str, namespace: str, time: float, now: float) -> Json:
        """The list of ``nodes``, or of ``pods`` in a namespace ("" for all): used at the sandbox's ``time``."""
        nodes = [raw for raw in self._store.all(NODE) if not silent(raw)]
        names = {raw["metadata"]["name"]: place for place, raw in enumerate(nodes)}
        pods = [raw for raw in self._store.all(POD) if phase(raw) == "Running" and raw["spec"].get("nodeName") in names]
        on = np.array([names[raw["spec"]["nodeName"]] for raw in pods], dtype=np.intp)
        room = [_pair((raw.get("status") or {}).get("allocatable") or {}) for raw in nodes]
        cores, size = (np.array([pair[place] for pair in room], dtype=np.float64) for place in (0, 1))
        cpu, memory = self._used(pods, on, time, np.maximum(0.0, cores - SYSTEM_CPU), size)
        stamp = {"timestamp": timestamp(now), "window": WINDOW}
        if what == "pods":
            items = [
                {"metadata": _metadata(raw), **stamp, "containers": _containers(raw, cpu[place], memory[place])}
                for place, raw in enumerate(pods)
                if not namespace or raw["metadata"]["namespace"] == namespace
            ]
            return _listed("PodMetricsList", items)
        of_pods = (np.bincount(on, weights=rows, minlength=len(nodes)) for rows in (cpu, memory))
        whole = [found + more for found, more in zip(of_pods, (SYSTEM_CPU, SYSTEM_MEMORY), strict=True)]
        items = [
            {"metadata": _metadata(raw), **stamp, "usage": _usage(whole[0][place], whole[1][place])}
            for place, raw in enumerate(nodes)
        ]
        return _listed("NodeMetricsList", items)

    def _used(self, pods: list[Json], on: Places, time: float, cores: Floats, size: Floats) -> tuple[Floats, Floats]:
        """Cores and bytes of each pod, within what its node has."""
        if not pods:
            return np.zeros(0), np.zeros(0)
        asked = [requested(raw) for raw in pods]
        wants_cpu, wants_memory = (np.array([pair[place] for pair in asked]) for place in (0, 1))
        names = [annotation(raw, "use") or "" for raw in pods]
        places = np.array([curves.NAMES.index(name if name in curves.PATTERNS else curves.OTHERS) for name in names])
        of_memory = np.array([pattern.memory for pattern in curves.PATTERNS.values()])[places]
        own = np.array([share(raw["metadata"]["uid"]) for raw in pods])
        wave = np.sin(2 * np.pi * (time / (RHYTHM * (0.8 + own)) + own)) + np.sin(2 * np.pi * (time / 5400 + 7 * own))
        cpu = wants_cpu * self._busy(pods, places, own, wave, time)
        memory = wants_memory * np.minimum(0.98, of_memory * (0.9 + 0.2 * own) * (1 + 0.02 * wave))
        limits = np.array([limited(raw) for raw in pods])
        cpu = np.minimum(cpu, limits[:, 0])
        memory = np.minimum(memory, limits[:, 1])
        used = divided(cpu, np.minimum(cpu, wants_cpu), on, cores)
        held = divided(memory, np.minimum(memory, wants_memory), on, np.maximum(0.0, size - SYSTEM_MEMORY))
        return used, held

    def _busy(self, pods: list[Json], places: Places, own: Floats, wave: Floats, time: float) -> Floats:
        """The share of its requested CPU that each pod uses."""
        if self._recording is None:
            level = curves.at(self._seed, places, time + 3600 * (own - 0.5))
            return np.asarray(level * (0.75 + 0.5 * own) * np.maximum(0.1, 1 + 0.12 * wave))
        machines = np.array([int(share(_workload(raw)) * len(self._recording.names)) for raw in pods])
        percent, step = self._recording.percent, time % self._recording.seconds / self._recording.step
        before, part = int(step), step - int(step)
        after = (before + 1) % percent.shape[1]
        return np.asarray((percent[machines, before] * (1 - part) + percent[machines, after] * part) / 100)


def _workload(pod: Json) -> str:
    """The uid of the pod's controller, else its own: pods of a workload are equally busy."""
    owner = controller_of(pod)
    return str(owner["uid"] if owner is not None else pod["metadata"]["uid"])


def requested(pod: Json) -> tuple[float, float]:
    """Cores and bytes that the pod's containers ask for."""
    found = [_pair(one.get("resources", {}).get("requests") or {}) for one in pod["spec"]["containers"]]
    return max(LEAST_CPU, sum(pair[0] for pair in found)), max(LEAST_MEMORY, sum(pair[1] for pair in found))


def limited(pod: Json) -> tuple[float, float]:
    """Cores and bytes that the pod's containers may use at most; infinite where one of them has no limit."""
    found = [one.get("resources", {}).get("limits") or {} for one in pod["spec"]["containers"]]
    whole = [
        sum(parse(str(one[name])) / NANO if name in one else np.inf for one in found) for name in ("cpu", "memory")
    ]
    return float(whole[0]), float(whole[1])


def _pair(listed: Json) -> tuple[float, float]:
    return parse(str(listed.get("cpu", "0"))) / NANO, parse(str(listed.get("memory", "0"))) / NANO


def _metadata(raw: Json) -> Json:
    return {
        key: raw["metadata"][key]
        for key in ("name", "namespace", "creationTimestamp", "labels")
        if key in raw["metadata"]
    }


def _containers(pod: Json, cpu: float, memory: float) -> list[Json]:
    """The use of a pod, shared by its containers as they ask for it."""
    names = [one["name"] for one in pod["spec"]["containers"]]
    found = [_pair(one.get("resources", {}).get("requests") or {}) for one in pod["spec"]["containers"]]
    parts = [[max(pair[place], least) for pair in found] for place, least in ((0, LEAST_CPU), (1, LEAST_MEMORY))]
    return [
        {"name": name, "usage": _usage(cpu * parts[0][at] / sum(parts[0]), memory * parts[1][at] / sum(parts[1]))}
        for at, name in enumerate(names)
    ]


def _usage(cpu: float, memory: float) -> Json:
    return {"cpu": f"{round(cpu * 1e9)}n", "memory": f"{round(memory / 1024)}Ki"}


def _listed(kind: str, items: list[Json]) -> Json:
    return {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}
