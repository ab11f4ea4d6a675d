"""Arrivals of pods: recorded ones, and random ones from a seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.simulation import PodLeaves
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_PODS
from kschedweb.engine.studies.document.parts import Generate, LifetimeDistribution, PodShape, Tide, Trace
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster, create_arrival
from kschedweb.engine.studies.prepare.replay import replay_trace
from kschedweb.engine.studies.prepare.workloads import Workloads
from kschedweb.engine.studies.traces.files import Files
from kschedweb.engine.studies.traces.pods import PodSpecs, TracePod

DAY = 86400.0
# Seconds, of March 1973. A trace whose first time is above counts from the epoch, and its first time becomes 0.
EPOCH = 1e8


class Arrivals:
    """Add pods to ``cluster``; an equal ``seed`` gives equal pods. Methods raise PartError."""

    def __init__(self, cluster: ScenarioCluster, workloads: Workloads, files: Files, seed: int) -> None:
        self.cluster, self.workloads, self.files, self.seed = cluster, workloads, files, seed

    def add_part(self, part: Trace | Generate, place: int, run: str) -> None:
        """Add the pods of ``part``, number ``place`` of the arrivals; ``run`` is the document's ``run.place``."""
        try:
            if isinstance(part, Generate):
                self._add_generated(part, place)
            elif part.format == "records":
                replay_trace(part, self.files, self.cluster, run)
            else:
                self._add_trace(part)
        except ObjectError as problem:
            raise PartError(str(problem)) from None

    # Recorded pods.

    def _add_trace(self, trace: Trace) -> None:
        pods = list(self._limit_pods(trace))
        start = min((pod.at for pod in pods), default=0.0)
        start = start if start > EPOCH else 0.0
        renamed = 0
        for pod in sorted(pods, key=lambda recorded: recorded.at):
            raw, was_renamed = self._name_uniquely(pod)
            renamed += was_renamed
            at = (pod.at - start) / trace.speed
            life = None if pod.life is None or not trace.leave else pod.life / trace.speed
            self.cluster.add_arrival(raw, at, life)
            if pod.leaves is not None and trace.leave:
                key = f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"
                self.cluster.events.append(PodLeaves((pod.leaves - start) / trace.speed, key, if_there=True))
        if renamed:
            self.cluster.add_note(
                f"{trace.file}: {renamed:,} pods had a name that there was already: a number was added"
            )
        if start:
            self.cluster.add_note(
                f"{trace.file}: times are counted from the earliest in it, {start:.0f} s of the epoch"
            )

    def _limit_pods(self, trace: Trace) -> Iterator[TracePod]:
        remaining = MOST_PODS - len(self.cluster.pod_keys)
        for number, pod in enumerate(self.files.read_pods(trace)):
            if trace.limit is not None and number >= trace.limit:
                return
            if number >= remaining:
                raise PartError(f"{trace.file}: there are more than {MOST_PODS:,} pods: set a limit", "limit")
            yield pod

    def _name_uniquely(self, pod: TracePod) -> tuple[Json, bool]:
        """Return the pod under a unique name, and whether it was renamed."""
        metadata = pod.raw["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if f"{namespace}/{name}" not in self.cluster.pod_keys:
            return pod.raw, False
        names = (f"{name}-{number}" for number in itertools.count(2))
        free = next(other for other in names if f"{namespace}/{other}" not in self.cluster.pod_keys)
        return {**pod.raw, "metadata": {**metadata, "name": free}}, True

    # Random pods.

    def _add_generated(self, part: Generate, place: int) -> None:
        # The 2 keeps this stream of numbers apart from that of real use, which is [seed, 1].
        generator = np.random.default_rng([self.seed, 2, place])
        expected = part.per_hour / 3600.0 * (part.end - part.at) * (1.0 if part.tide is None else _mean_tide(part.tide))
        if expected > MOST_PODS:
            raise PartError(f"would make about {expected:,.0f} pods; at most {MOST_PODS:,} are taken", "perHour")
        times = _draw_times(part, generator)
        weights = np.array([shape.weight for shape in part.shapes])
        chosen = generator.choice(len(weights), size=len(times), p=weights / weights.sum())
        lives = generator.uniform(size=len(times))
        makers = [self._make_pods(part, shape, place, number) for number, shape in enumerate(part.shapes)]
        for time, kind, drawn in zip(times.tolist(), chosen.tolist(), lives.tolist(), strict=True):
            raw = next(makers[kind])
            self.cluster.pod_keys.add(f"{part.namespace}/{raw['metadata']['name']}")
            self.cluster.events.append(create_arrival(raw, time, _draw_lifetime(part.shapes[kind].life, drawn)))
        if len(self.cluster.pod_keys) > MOST_PODS:
            raise PartError(f"there are more than {MOST_PODS:,} pods: make fewer", "perHour")

    def _make_pods(self, part: Generate, shape: PodShape, place: int, number: int) -> Iterator[Json]:
        """Return an iterator over new pods of the shape, which belong to a deployment of their own."""
        name = shape.name or f"generated-{place + 1}-{number + 1}"
        basic = {key: amount for key, amount in (("cpu", shape.cpu), ("memory", shape.memory)) if amount is not None}
        labels = {"app": name, **shape.labels}
        raw = PodSpecs().create_pod(
            name, part.namespace, labels, {**basic, **shape.resources}, shape.resources, shape.spec
        )
        template = {"metadata": {"labels": labels}, "spec": raw["spec"]}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": part.namespace},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template},
        }
        if self.cluster.find_object("Deployment", part.namespace, name) is not None:
            raise PartError(f"there is a Deployment {part.namespace}/{name} already", f"shapes[{number}].name")
        self.cluster.add_object(deployment)
        return self.workloads.pods_of(deployment)


def _draw_times(part: Generate, generator: np.random.Generator) -> Floats:
    """Draw arrival times of a Poisson process at the highest rate, thinned by the tide."""
    rate, span = part.per_hour / 3600.0, part.end - part.at
    count = int(generator.poisson(rate * span))
    # Given their count, the times of a Poisson process are uniform.
    times = np.sort(generator.uniform(part.at, part.end, count))
    if part.tide is None:
        return times
    thinned: Floats = times[generator.uniform(size=count) < _tide_share(part.tide, times)]
    return thinned


def _tide_share(tide: Tide, times: Floats) -> Floats:
    """Return the share of the highest rate at each time."""
    swing = (1.0 + np.cos((times - tide.peak) * (2.0 * np.pi / DAY))) / 2.0
    height: Floats = tide.low + (1.0 - tide.low) * swing
    return height


def _mean_tide(tide: Tide) -> float:
    return (1.0 + tide.low) / 2.0


def _draw_lifetime(life: float | LifetimeDistribution | None, drawn: float) -> float | None:
    """Return the seconds for which a pod runs; ``drawn`` is uniform from 0 to 1."""
    if life is None or isinstance(life, float):
        return life
    if life.mean is not None:
        # An exponential distribution; log1p is exact for small numbers, and never takes the logarithm of 0.
        return -life.mean * math.log1p(-drawn)
    assert life.shortest is not None
    assert life.longest is not None
    # Uniform in the logarithm, as lifetimes span orders of magnitude.
    return life.shortest * math.exp(drawn * math.log(life.longest / life.shortest))
