"""Determine the real use of pods and nodes in a scenario: figures collected of the base, or recorded curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.simulation import NodeJoins, PodArrives
from kschedweb.engine.simulation.recorded_use import MILLI, Follower, RecordedUse
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.state.watermarks.table import Watermarks, workload_of
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_FOLLOWERS, MOST_USE
from kschedweb.engine.studies.document.parts import ScenarioDocument, UsageSource
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster
from kschedweb.engine.studies.prepare.estimate import Estimate, EstimatedUse
from kschedweb.engine.studies.prepare.history import create_replay, list_notes
from kschedweb.engine.studies.traces.files import Files
from kschedweb.engine.values import dataclass

# Seconds between samples of recorded curves.
INTERVAL = 300.0


@dataclass(frozen=True, slots=True)
class KnownUse:
    """The real use of pods and nodes in a scenario."""

    # Makes a new model of use for each simulation, as it depends on the pods that ran; None: use is not known.
    make: Callable[[], UseModel] | None = None
    # Measured use of nodes at time 0.
    watermarks: Watermarks | None = None


def use_of(
    document: ScenarioDocument,
    cluster: ScenarioCluster,
    files: Files,
    utilisation: CollectedWatermarks | Watermarks | None,
    *,
    seed: int,
    now: float,
) -> KnownUse:
    """Return the use that ``document.use`` names; raise PartError if it is missing.

    Figures collected of the base are in ``utilisation``, or in a file with the scenario, which has precedence.
    """
    use = document.use
    if use.is_collected:
        collected = files.read_figures(use.figures_file(document.base.snapshot))
        if collected is None:
            collected = (
                CollectedWatermarks.from_watermarks(utilisation, now)
                if isinstance(utilisation, Watermarks)
                else utilisation
            )
        return _estimate_use(use, cluster, collected, document.run.end, now)
    if use.file is not None:
        return KnownUse(_follow_recording(use.file, cluster, files, seed))
    return KnownUse()


def _estimate_use(
    use: UsageSource, cluster: ScenarioCluster, collected: CollectedWatermarks | None, end: float | None, now: float
) -> KnownUse:
    """Return use where each pod keeps the use of its workload, or its share of its node's use, wherever it runs."""
    history = create_replay(use, collected, now)
    assert collected is not None  # `create_replay` raises otherwise.
    for text in list_notes(collected, history, end):
        cluster.add_note(text)
    before = {name: Node.from_json(raw).allocatable for name, raw in cluster.base_nodes.items()}
    after = {node.name: node.allocatable for node in _list_nodes(cluster)}
    estimate = Estimate(history, cluster.initially_bound, before, after, _replica_sets(cluster))
    return KnownUse(lambda: EstimatedUse(estimate), estimate.amounts_at(history.index_at(0.0)).watermarks)


def _follow_recording(name: str, cluster: ScenarioCluster, files: Files, seed: int) -> Callable[[], UseModel]:
    """Return a maker of use where each workload, or pod without one, follows the curve of a machine.

    ``seed`` decides which machine.
    """
    recording = files.read_recording(name)
    wants = _peak_cores(cluster)
    if len(wants) > MOST_FOLLOWERS:
        text = f"only {MOST_FOLLOWERS:,} of {len(wants):,} workloads follow a curve; the pods of the others use nothing"
        cluster.add_note(f"{name}: {text}")
    samples = round(recording.seconds / INTERVAL)
    if min(len(wants), MOST_FOLLOWERS) * samples > MOST_USE:
        raise PartError(f"{name}: {samples:,} samples for {len(wants):,} workloads are too much: take a shorter trace")
    # The 1 keeps this stream of numbers apart from that of random arrivals, which is [seed, 2, place].
    machines, generator = len(recording.names), np.random.default_rng([seed, 1])
    names = sorted(wants)[:MOST_FOLLOWERS]
    # Every machine is drawn once before any is drawn again.
    rounds = [generator.permutation(machines) for _ in range(-(-len(names) // machines))]
    # The empty array keeps the type if there are no workloads.
    rows = np.concatenate([*rounds, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    followers = {workload: Follower(int(rows[place]), wants[workload]) for place, workload in enumerate(names)}
    curves, nodes = recording.sample_curves(INTERVAL), _node_cores(cluster)
    if not nodes or not followers:
        raise PartError(f"{name}: there is no node, or no pod, whose use could follow it", "file")
    return lambda: RecordedUse(nodes, curves, INTERVAL, followers)


def _replica_sets(cluster: ScenarioCluster) -> ClusterObjects:
    """Return the ReplicaSets, which link pods to Deployments."""
    objects = ClusterObjects()
    for raw in cluster.others.values():
        if raw.get("kind") == "ReplicaSet":
            objects.add(raw)
    return objects


def _peak_cores(cluster: ScenarioCluster) -> dict[str, float]:
    """Return the most cores that a pod of each workload can use: its limit, else its request."""
    objects = _replica_sets(cluster)
    arriving = [event.pod for event in cluster.events if isinstance(event, PodArrives)]
    cores_by_workload: dict[str, float] = {}
    for source in [*cluster.bound.values(), *cluster.waiting.values(), *arriving]:
        try:
            pod = source if isinstance(source, Pod) else Pod.from_json(source)
        except ObjectError:
            continue  # A note about it exists already.
        name = workload_of(pod, objects) or f"{pod.namespace}/Pod/{pod.name}"
        cores_by_workload.setdefault(name, (pod.limits.get(CPU) or pod.requests.get(CPU, 0)) / MILLI)
    return {name: cores for name, cores in cores_by_workload.items() if cores > 0.0}


def _node_cores(cluster: ScenarioCluster) -> dict[str, float]:
    """Return the allocatable cores of every node that exists at any time."""
    return {node.name: cores for node in _list_nodes(cluster) if (cores := node.allocatable.get(CPU, 0) / MILLI) > 0.0}


def _list_nodes(cluster: ScenarioCluster) -> list[Node]:
    """Return every node that exists at any time, as it is before the run and when it joins; names may repeat."""
    joining = [event.node for event in cluster.events if isinstance(event, NodeJoins)]
    existing = [*cluster.base_nodes.values(), *cluster.initial_nodes.values(), *cluster.nodes.values()]
    return [Node.from_json(raw) for raw in [*existing, *joining]]
