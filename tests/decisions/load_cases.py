"""Small clusters with any figures of use, for the arithmetic of load-aware plugins."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kschedweb.decisions.case import Case
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.load_aware.curves import KEYS
from kschedweb.decisions.load_aware.sides import ScoringSide
from kschedweb.engine import Pod, Scheduler
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks.crane import HOT_VALUE, METRICS
from kschedweb.engine.state.watermarks.table import Watermarks

NOW = 1_750_000_000.0
GIB = 1 << 30


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(name: str, resources: Json, node: str = "", scheduled: float = NOW, **spec: Any) -> Json:
    owner = {"kind": "ReplicaSet", "name": "web-1", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name, "ownerReferences": [owner]},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "web", "resources": resources}],
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": {
            "phase": "Running" if node else "Pending",
            "startTime": stamp(scheduled),
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(scheduled)}],
        },
    }


def amounts(cpu: int, memory: int) -> Json:
    return {"cpu": f"{cpu}m", "memory": str(memory), "pods": "110"}


def node(name: str, allocatable: Json, capacity: Json) -> Json:
    status = {"allocatable": allocatable, "capacity": capacity}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {
        "name": "web-1",
        "namespace": "d",
        "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
    },
}

# As crane-scheduler writes them: local time of one zone or another, fractions, and what cannot be read.
crane_texts = st.dictionaries(
    st.sampled_from((*METRICS, "gpu_usage", HOT_VALUE)),
    st.builds(
        lambda value, age: f"{value},{stamp(NOW - age)}",
        st.sampled_from(("0.12345", "0.60000", "1.2", "3", "x", "-1")),
        st.sampled_from((0, 100, 700, 5000, -28_700, -28_300)),
    ),
    max_size=3,
)
share = st.one_of(st.none(), st.floats(0, 130), st.integers(0, 100).map(float))

curve = st.lists(st.one_of(st.just(math.nan), st.floats(0, 4)), min_size=24, max_size=24).map(np.array)


@st.composite
def container(draw: st.DrawFn) -> Json:
    """Requests and limits of a container, any of them absent."""
    resources: Json = {}
    for side in ("requests", "limits"):
        amounts_of_side = {}
        if draw(st.booleans()):
            amounts_of_side["cpu"] = f"{draw(st.integers(0, 4000))}m"
        if draw(st.booleans()):
            amounts_of_side["memory"] = str(draw(st.integers(0, 16 * GIB)))
        if amounts_of_side:
            resources[side] = amounts_of_side
    return resources


@st.composite
def clusters(draw: st.DrawFn) -> tuple[EngineSnapshot, Pod]:
    """One to four nodes with figures, some missing or old; bound pods, some newer than the figures; a pod to place."""
    size = draw(st.integers(1, 4))
    objects: list[Json] = [REPLICA_SET]
    for position in range(size):
        cpu, memory = draw(st.integers(1000, 64000)), draw(st.integers(GIB, 256 * GIB))
        reserved = draw(st.sampled_from((0, 0, 500)))
        node_object = node(f"n{position}", amounts(cpu - reserved, memory), amounts(cpu, memory + reserved * 1024))
        node_object["metadata"]["annotations"] = draw(crane_texts)
        objects.append(node_object)
    names = [f"n{position}" for position in range(size)]
    for number in range(draw(st.integers(0, 4))):
        when = NOW - draw(st.sampled_from((0, 5, 45, 100, 250, 400, 4000, 100_000)))
        objects.append(pod(f"b{number}", draw(container()), draw(st.sampled_from(names)), when))
    snapshot = EngineSnapshot.from_objects(objects)
    snapshot.now = NOW
    snapshot.watermarks = draw(watermarks(snapshot.names))
    return snapshot, Pod.from_json(pod("asked", draw(container())))


@st.composite
def watermarks(draw: st.DrawFn, names: list[str]) -> Watermarks:
    ages = [draw(st.sampled_from((0.0, 30.0, 170.0, 181.0, 301.0, 900.0, 5000.0, 200_000.0))) for _ in names]
    figures = {}
    for resource in ("cpu", "memory"):
        for key in (*KEYS, "15m_std"):
            values = [draw(share) for _ in names]
            if draw(st.integers(0, 7)):
                figures[resource, key] = np.array([math.nan if value is None else value for value in values])
    workloads: dict[str, Any] = {}
    if draw(st.booleans()):
        use = {key: draw(st.floats(0, 4)) for key in ("15m", "1h", "1d") if draw(st.booleans())}
        workloads["d/Deployment/web"] = {"cpu": use, "memory": {"15m": float(draw(st.integers(0, 8 * GIB)))}}
    curves = draw(st.dictionaries(st.just("d/Deployment/web"), curve, max_size=1))
    return Watermarks(names, NOW - np.array(ages), figures, workloads, "a test", curves=curves)


def decide(snapshot: EngineSnapshot, pod: Pod, side: ScoringSide) -> Decision:
    """The decision of ``side`` alone. Raises CycleError where its cycle fails."""
    scheduler = Scheduler(snapshot, side.configuration_alone())
    return Decision(Case(snapshot, pod, scheduler, scheduler.explain(pod), ""))
