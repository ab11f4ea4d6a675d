"""What pods and nodes really use in a scenario: what was collected about the base, or recorded curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

INTERVAL = 300.0  # seconds, of recorded use


@dataclass(frozen=True, slots=True)
class KnownUse:
    """``make`` gives each simulation its own."""

    make: Callable[[], UseModel] | None = None
    watermarks: Watermarks | None = None


def use_of(
    document: Document, cluster: Cluster, files: Files, known: Collected | Watermarks | None, *, seed: int, now: float
) -> KnownUse:
    """What ``document.use`` asks for; raises PartError where it is not there.

    What was collected about the base is ``known``, or comes as a file with the scenario, which goes before.
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
    """Each pod takes along what was collected about its workload, or what it had of its node's use."""
    history = played(use, found, now)
    assert found is not None  # else that is refused
    for text in notes(found, history, until):
        cluster.note(text)
    before = {name: Node.read(raw).allocatable for name, raw in cluster.based.items()}
    after = {node.name: node.allocatable for node in _nodes(cluster)}
    estimate = Estimate(history, cluster.ran, before, after, _sets(cluster))
    return KnownUse(lambda: EstimatedUse(estimate), estimate.at(history.place(0.0)).known)


def _recorded(name: str, cluster: Cluster, files: Files, seed: int) -> Callable[[], UseModel]:
    """Each workload, or pod without one, follows the curve of a machine, dealt out by ``seed``."""
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
    """The replica sets, which lead from pods to deployments."""
    objects = ClusterObjects()
    for raw in cluster.others.values():
        if raw.get("kind") == "ReplicaSet":
            objects.add(raw)
    return objects


def _wants(cluster: Cluster) -> dict[str, float]:
    """Cores that a pod of each workload may use: its limit, else what it requests."""
    objects = _sets(cluster)
    arriving = [event.pod for event in cluster.events if isinstance(event, PodArrives)]
    found: dict[str, float] = {}
    for one in [*cluster.bound.values(), *cluster.waiting.values(), *arriving]:
        try:
            pod = one if isinstance(one, Pod) else Pod.read(one)
        except ObjectError:
            continue  # of which a note tells already
        name = workload_of(pod, objects) or f"{pod.namespace}/Pod/{pod.name}"
        found.setdefault(name, (pod.limits.get(CPU) or pod.requests.get(CPU, 0)) / MILLI)
    return {name: cores for name, cores in found.items() if cores > 0.0}


def _cores(cluster: Cluster) -> dict[str, float]:
    """Cores of every node that there ever is."""
    return {node.name: cores for node in _nodes(cluster) if (cores := node.allocatable.get(CPU, 0) / MILLI) > 0.0}


def _nodes(cluster: Cluster) -> list[Node]:
    """Every node that there ever is, and as it was last changed before anything began to run."""
    joining = [event.node for event in cluster.events if isinstance(event, NodeJoins)]
    there = [*cluster.based.values(), *cluster.first.values(), *cluster.nodes.values()]
    return [Node.read(raw) for raw in [*there, *joining]]
