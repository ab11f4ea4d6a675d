"""Build the cluster and the pods of the experiment from a recording and a seed: the same for every policy."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterator
from dataclasses import Field, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import PodArrives, make_replica
from kschedweb.engine.simulation.recorded_use import Follower, RecordedUse
from kschedweb.engine.simulation.recording import UseRecording
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

HOUR = 3600.0
GIB = 1 << 30
# Lowest use of a machine that counts, so that an idle machine has pods, too.
LEAST_USE = 0.001
# The highest power of `popularity`.
MOST_POPULAR = 4.0
# Distributions.
EVEN, LOG = "even", "log"
NAMESPACE = "default"


class SetupError(ValueError):
    """A set-up that cannot be run; the message says which value is wrong, and why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The set-up of the experiment, with its own values as defaults. Times are in seconds, sizes in cores.

    In JSON, fields have their names, or those of the metadata ``key``.
    """

    # Nodes, and cores of each.
    nodes: int = 40
    cores: int = 32
    # Share of all cores up to which pods arrive.
    requested: float = 0.85
    # Lowest and highest request of a pod; pods of a deployment request the same.
    min_request: float = field(default=0.5, metadata={"key": "least"})
    max_request: float = field(default=2.0, metadata={"key": "most"})
    # Distribution of requests: "even", or "log" for even on a logarithmic scale.
    sizes: str = "even"
    # Times its request that a pod may use.
    burst: float = 4.0
    # Lifetimes of pods.
    shortest: float = 3 * HOUR
    longest: float = 24 * HOUR
    # Their distribution, as that of requests.
    lives: str = "log"
    # Seconds between two arrivals at least.
    pace: float = 10.0
    # Each deployment follows a machine, another one as long as there are any.
    deployments: int = 1000
    # Mean use of nodes as a share. The busier a machine, the more pods its deployment has, as far as this needs.
    used: float = 0.7
    # GiB a core, of nodes and of requests.
    memory: float = 4.0
    # Share of requested memory that is used; None: memory is not measured.
    memory_use: float | None = None
    # What is known of a deployment: "own" for the use of its own pods, "recorded" for all of its machine's use so far.
    past: str = "own"
    # When measures begin.
    since: float = 4 * HOUR
    # From one measurement of nodes to the next.
    interval: float = 300.0
    # True: use follows the line between recorded means. False: each mean holds for its five minutes.
    linear: bool = False
    # Times their cores that can be requested from nodes.
    room: float = 1.5

    def check_recording(self, recording: UseRecording) -> None:
        """Raise SetupError if this cannot be run with ``recording``."""
        positive = (
            "nodes",
            "cores",
            "least",
            "burst",
            "shortest",
            "pace",
            "deployments",
            "used",
            "memory",
            "interval",
            "room",
        )
        values = self.to_dict()
        for name in positive:
            if not values[name] > 0:
                raise SetupError(f"{name}: must be above 0")
        for lower_name, upper_name in (("least", "most"), ("shortest", "longest"), ("most", "cores")):
            if values[lower_name] > values[upper_name]:
                raise SetupError(f"{lower_name}: must not be above {upper_name}")
        if not 0.0 < self.requested <= 1.0:
            raise SetupError("requested: must be above 0 and at most 1")
        for name, first, other in (("past", "own", "recorded"), ("sizes", EVEN, LOG), ("lives", EVEN, LOG)):
            if values[name] not in (first, other):
                raise SetupError(f'{name}: must be "{first}" or "{other}"')
        if not 0.0 <= self.since < recording.seconds:
            raise SetupError(f"since: must lie within the {recording.seconds / HOUR:g} h that were recorded")
        if recording.seconds % self.interval:
            raise SetupError(f"interval: must divide the {recording.seconds / HOUR:g} h that were recorded")

    def to_dict(self) -> Json:
        return {_setup_key(setup_field): getattr(self, setup_field.name) for setup_field in fields(self)}

    @classmethod
    def from_values(cls, values: Json) -> Setup:
        """Return a set-up that differs from the defaults in ``values``; raise SetupError for a wrong name or type."""
        setup_fields = {_setup_key(setup_field): setup_field for setup_field in fields(cls)}
        defaults = {key: setup_field.default for key, setup_field in setup_fields.items()}
        for name, value in values.items():
            if name not in defaults:
                raise SetupError(f"{name}: is not known; known are {', '.join(sorted(defaults))}")
            if not _fits_default(value, defaults[name]):
                raise SetupError(f"{name}: {value!r} does not fit; the default is {defaults[name]!r}")
        attributes: Json = {
            setup_fields[key].name: int(value) if type(defaults[key]) is int else value for key, value in values.items()
        }
        return cls(**attributes)


def _setup_key(setup_field: Field[Any]) -> str:
    return str(setup_field.metadata.get("key", setup_field.name))


def _fits_default(value: Any, default: Any) -> bool:
    """Return whether ``value`` can replace ``default``; a default ``None`` means a number or nothing."""
    if isinstance(default, str | bool):
        return type(value) is type(default)
    if value is None:
        return default is None
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number and (not isinstance(default, int) or value == int(value))


@dataclass(frozen=True, slots=True)
class Arrival:
    """The arrival of a pod."""

    # Seconds from the beginning.
    time: float
    # Its deployment.
    deployment: int
    # Seconds that it runs.
    life: float


class ExperimentWorkload:
    """The cluster and the pods for a recording and a seed. ``requests`` is float64[deployments] in cores."""

    def __init__(self, recording: UseRecording, seed: int, setup: Setup | None = None) -> None:
        self.recording, self.seed, self.setup = recording, seed, setup or Setup()
        self.setup.check_recording(recording)
        generator = np.random.default_rng(seed)
        machines, count = len(recording.names), self.setup.deployments
        # Every machine is followed once before any is followed again.
        rounds = [generator.permutation(machines) for _ in range(-(-count // machines))]
        self.machines = np.concatenate(rounds)[:count]
        sizes = _draw_values(generator, self.setup.sizes, self.setup.min_request, self.setup.max_request, count)
        self.requests: Floats = np.round(sizes, 2)
        self.popularity = self._solve_popularity()
        self.arrivals = list(self._generate_arrivals(generator))

    @property
    def seconds(self) -> float:
        return self.recording.seconds

    def _solve_popularity(self) -> float:
        """Return the power of a machine's mean use to which a deployment's number of pods is proportional."""
        use = self.recording.percent[self.machines].mean(axis=1) / 100.0
        full = self.setup.requested * self.setup.burst

        def mean_use(power: float) -> float:
            weights = np.maximum(use, LEAST_USE) ** power * self.requests
            return float(full * (weights * use).sum() / weights.sum())

        low, high = -MOST_POPULAR, MOST_POPULAR
        if not mean_use(low) <= self.setup.used <= mean_use(high):
            raise SetupError(f"used: must be from {mean_use(low):.2f} to {mean_use(high):.2f} with this recording")
        # The mean use grows with the power, so bisection finds it; 50 steps exhaust the precision of a float.
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if mean_use(middle) < self.setup.used else (low, middle)
        return low

    def _generate_arrivals(self, generator: np.random.Generator) -> Iterator[Arrival]:
        """Yield arrivals while less than the wanted share is requested; pods that end make room."""
        setup = self.setup
        target_cores = setup.requested * setup.nodes * setup.cores
        use = self.recording.percent[self.machines].mean(axis=1) / 100.0
        chances = np.cumsum(np.maximum(use, LEAST_USE) ** self.popularity)
        ends: list[tuple[float, float]] = []
        time = requested = 0.0
        while time < self.seconds:
            while ends and ends[0][0] <= time:
                requested -= heapq.heappop(ends)[1]
            if requested >= target_cores:
                time = ends[0][0]
                continue
            place = int(np.searchsorted(chances, generator.uniform(0.0, chances[-1]), side="right"))
            # The drawn number may equal the end of the range by rounding.
            place = min(place, len(chances) - 1)
            life = float(_draw_values(generator, setup.lives, setup.shortest, setup.longest, 1)[0])
            yield Arrival(time, place, life)
            heapq.heappush(ends, (time + life, float(self.requests[place])))
            requested += float(self.requests[place])
            time += setup.pace

    # As Kubernetes objects.

    @cached_property
    def nodes(self) -> list[Json]:
        amounts = {
            "cpu": f"{round(1000 * self.setup.cores * self.setup.room)}m",
            "memory": f"{round(self.setup.cores * self.setup.memory * self.setup.room * 1024)}Mi",
            "pods": "110",
        }
        return [_create_node(f"node-{place + 1:02d}", amounts) for place in range(self.setup.nodes)]

    @cached_property
    def objects(self) -> list[Json]:
        """Nodes, deployments and their ReplicaSets."""
        owners = [part for place in range(len(self.requests)) for part in self._create_owners(place)]
        return [*self.nodes, *owners]

    def _create_owners(self, place: int) -> list[Json]:
        name, labels = _app_name(place), _app_labels(place)
        common = {"apiVersion": "apps/v1", "spec": {"selector": {"matchLabels": labels}}}
        deployment = {**common, "kind": "Deployment", "metadata": {"name": name, "namespace": NAMESPACE}}
        owner = _owner_reference("Deployment", name)
        metadata = {"name": _replica_set(place), "namespace": NAMESPACE, "ownerReferences": [owner]}
        return [deployment, {**common, "kind": "ReplicaSet", "metadata": metadata}]

    @cached_property
    def events(self) -> list[PodArrives]:
        """Arrivals of pods as events, which any number of simulations can use."""
        # Replicas share the parsed template, which saves parsing thousands of equal pods.
        templates: dict[int, Pod] = {}
        events = []
        for number, arrival in enumerate(self.arrivals):
            place = arrival.deployment
            if place not in templates:
                templates[place] = Pod.from_json(self._create_pod(place))
            pod = make_replica(templates[place], f"{_replica_set(place)}-{number:05d}")
            events.append(PodArrives(arrival.time, pod, arrival.life))
        return events

    def _create_pod(self, place: int) -> Json:
        cores, memory = float(self.requests[place]), round(float(self.requests[place]) * self.setup.memory * 1024)
        requests = {"cpu": f"{round(1000 * cores)}m", "memory": f"{memory}Mi"}
        limits = {"cpu": f"{round(1000 * cores * self.setup.burst)}m", "memory": f"{memory}Mi"}
        container = {"name": "main", "image": f"registry.example/{_app_name(place)}:v1"}
        metadata = {
            "name": _app_name(place),
            "namespace": NAMESPACE,
            "labels": _app_labels(place),
            "ownerReferences": [_owner_reference("ReplicaSet", _replica_set(place))],
        }
        spec = {"containers": [{**container, "resources": {"requests": requests, "limits": limits}}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    # Use of pods.

    @cached_property
    def curves(self) -> Floats:
        """Percent of what a pod may use, by machine and interval."""
        return self.recording.sample_curves(self.setup.interval, linear=self.setup.linear)

    def create_use(self) -> RecordedUse:
        """Return the model of real use for one simulation."""
        setup = self.setup
        cores = self.requests * setup.burst
        followers = {
            f"{NAMESPACE}/Deployment/{_app_name(place)}": Follower(int(machine), float(cores[place]))
            for place, machine in enumerate(self.machines)
        }
        nodes = {node["metadata"]["name"]: float(setup.cores) for node in self.nodes}
        memory = None
        if setup.memory_use is not None:
            memory = setup.memory_use, np.full(setup.nodes, setup.cores * setup.memory * GIB)
        recorded = setup.past == "recorded"
        return RecordedUse(nodes, self.curves, setup.interval, followers, recorded=recorded, memory=memory)


def _draw_values(generator: np.random.Generator, how: str, low: float, high: float, count: int) -> Floats:
    if how == EVEN:
        return generator.uniform(low, high, count)
    return np.exp(generator.uniform(np.log(low), np.log(high), count))


def _app_name(place: int) -> str:
    return f"app-{place + 1:04d}"


def _app_labels(place: int) -> Json:
    return {"app": _app_name(place), "pod-template-hash": hashlib.sha256(_app_name(place).encode()).hexdigest()[:10]}


def _replica_set(place: int) -> str:
    return f"{_app_name(place)}-{_app_labels(place)['pod-template-hash']}"


def _owner_reference(kind: str, name: str) -> Json:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}


def _create_node(name: str, amounts: dict[str, str]) -> Json:
    labels = {"kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
