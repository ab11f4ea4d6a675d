"""Real use of pods and nodes in a scenario: figures collected about the base, or recorded curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.simulation import NodeJoins, PodArrives
from kschedweb.engine.simulation.recorded import MILLI, Follower, RecordedUse
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.watermarks.collected import Collected
from kschedweb.engine.state.watermarks.table import Watermarks, workload_of
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_FOLLOWERS, MOST_USE
from kschedweb.engine.studies.document.parts import Document, UseOf
from kschedweb.engine.studies.prepare.cluster import Cluster
from kschedweb.engine.studies.prepare.estimate import Estimate, EstimatedUse
from kschedweb.engine.studies.prepare.history import notes, played
from kschedweb.engine.studies.traces.files import Files
from kschedweb.engine.values import dataclass

INTERVAL = 300.0  # seconds, of recorded use


@dataclass(frozen=True, slots=True)
class KnownUse:
    """The real use of a scenario; ``make`` returns a new source for each simulation."""

    make: Callable[[], UseModel] | None = None
    watermarks: Watermarks | None = None


def use_of(
    document: Document, cluster: Cluster, files: Files, known: Collected | Watermarks | None, *, seed: int, now: float
) -> KnownUse:
    """The use that ``document.use`` names; raises PartError if it is missing.

    Figures collected about the base are ``known``, or come in a file with the scenario, which has precedence.
    """
    use = document.use
    if use.collected:
        found = files.figures(use.figures(document.base.snapshot))
        if found is None:
            found = Collected.of(known, now) if isinstance(known, Watermarks) else known
        return _collected(use, cluster, found, document.run.until, now)
    if use.file is not None:
        return KnownUse(_recorded(use.file, cluster, files, seed))
    return KnownUse()


def _collected(use: UseOf, cluster: Cluster, found: Collected | None, until: float | None, now: float) -> KnownUse:
    """Each pod keeps the use of its workload, or its share of its node's use, wherever it runs."""
    history = played(use, found, now)
    assert found is not None  # checked before
    for text in notes(found, history, until):
        cluster.note(text)
    before = {name: Node.read(raw).allocatable for name, raw in cluster.based.items()}
    after = {node.name: node.allocatable for node in _nodes(cluster)}
    estimate = Estimate(history, cluster.ran, before, after, _sets(cluster))
    return KnownUse(lambda: EstimatedUse(estimate), estimate.at(history.place(0.0)).known)


def _recorded(name: str, cluster: Cluster, files: Files, seed: int) -> Callable[[], UseModel]:
    """Each workload, or pod without one, follows the curve of a machine, assigned by ``seed``."""
    recording = files.recording(name)
    wants = _wants(cluster)
    if len(wants) > MOST_FOLLOWERS:
        text = f"only {MOST_FOLLOWERS:,} of {len(wants):,} workloads follow a curve; the pods of the others use nothing"
        cluster.note(f"{name}: {text}")
    samples = round(recording.seconds / INTERVAL)
    if min(len(wants), MOST_FOLLOWERS) * samples > MOST_USE:
        raise PartError(f"{name}: {samples:,} samples for {len(wants):,} workloads are too much: take a shorter trace")
    machines, generator = len(recording.names), np.random.default_rng([seed, 1])
    names = sorted(wants)[:MOST_FOLLOWERS]
    rounds = [generator.permutation(machines) for _ in range(-(-len(names) // machines))]
    rows = np.concatenate([*rounds, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    followers = {one: Follower(int(rows[place]), wants[one]) for place, one in enumerate(names)}
    curves, nodes = recording.curves(INTERVAL), _cores(cluster)
    if not nodes or not followers:
        raise PartError(f"{name}: there is no node, or no pod, whose use could follow it", "file")
    return lambda: RecordedUse(nodes, curves, INTERVAL, followers)


def _sets(cluster: Cluster) -> ClusterObjects:
    """The replica sets, which link pods to deployments."""
    objects = ClusterObjects()
    for raw in cluster.others.values():
        if raw.get("kind") == "ReplicaSet":
            objects.add(raw)
    return objects


def _wants(cluster: Cluster) -> dict[str, float]:
    """The most cores that a pod of each workload can use: its limit, else its request."""
    objects = _sets(cluster)
    arriving = [event.pod for event in cluster.events if isinstance(event, PodArrives)]
    found: dict[str, float] = {}
    for one in [*cluster.bound.values(), *cluster.waiting.values(), *arriving]:
        try:
            pod = one if isinstance(one, Pod) else Pod.read(one)
        except ObjectError:
            continue  # a note exists already
        name = workload_of(pod, objects) or f"{pod.namespace}/Pod/{pod.name}"
        found.setdefault(name, (pod.limits.get(CPU) or pod.requests.get(CPU, 0)) / MILLI)
    return {name: cores for name, cores in found.items() if cores > 0.0}


def _cores(cluster: Cluster) -> dict[str, float]:
    """The cores of every node that ever exists."""
    return {node.name: cores for node in _nodes(cluster) if (cores := node.allocatable.get(CPU, 0) / MILLI) > 0.0}


def _nodes(cluster: Cluster) -> list[Node]:
    """Every node that ever exists, in its states before the run and when it joins; names may repeat."""
    joining = [event.node for event in cluster.events if isinstance(event, NodeJoins)]
    there = [*cluster.based.values(), *cluster.first.values(), *cluster.nodes.values()]
    return [Node.read(raw) for raw in [*there, *joining]]
