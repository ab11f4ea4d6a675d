"""Volcano's own answers: its plugin usage, with the tasks of a session as pods."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.plugins.volcanousage import Model, Shadow, VolcanoUsage
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.conformance.batches import judge_each
from tests.conformance.load_aware import answer, containers, plugin_of, vectors
from tests.engine.builders import node, pod

Row = dict[str, Any]
NOW = 1795240800.0
# What the API server tells of a task in each of Volcano's states; others are not on the node.
PHASES = {
    "Bound": "Pending",
    "Running": "Running",
    "Releasing": "Running",
    "Failed": "Failed",
    "Succeeded": "Succeeded",
}
REASONS = {
    "pass": (),
    "cpu": ("the CPU load of the node exceeds the upper limit.",),
    "mem": ("the memory load of the node exceeds the upper limit.",),
}


def task(name: str, row: Row) -> Row:
    raw = pod(name)
    raw["spec"] = {"containers": containers(row["containers"]), "initContainers": containers(row["initContainers"])}
    if row["status"] in PHASES:
        raw["spec"]["nodeName"] = "n"
        raw["status"] = {"phase": PHASES[row["status"]]}
        if row["startAgeSeconds"] is not None:
            raw["status"]["startTime"] = datetime.fromtimestamp(NOW - row["startAgeSeconds"], UTC).isoformat()
    if row["status"] == "Releasing":
        raw["metadata"]["deletionTimestamp"] = datetime.fromtimestamp(NOW, UTC).isoformat()
    return raw


def cluster(row: Row) -> Snapshot:
    """The node with the tasks that Volcano finds on it when its session opens."""
    has = {"cpu": f"{row['capacityCpuMilli']}m", "memory": str(row["capacityMemBytes"])}
    raw = node("n", allocatable=has)
    raw["status"]["capacity"] = has
    tasks = {f"on-{position}": task_row for position, task_row in enumerate(row["tasksOnNode"])}
    bound = [task(name, task_row) for name, task_row in tasks.items() if task_row["status"] in PHASES]
    snapshot = Snapshot.from_objects([raw, *bound])
    snapshot.now = NOW
    figures = {
        resource: {} if row[key] is None else {"10m": row[key]}
        for resource, key in (("cpu", "cpuUsagePercent"), ("memory", "memUsagePercent"))
    }
    age = row["metricsAgeSeconds"]
    entry = {"updated": None if age is None else NOW - age, **figures}
    snapshot.watermarks = Watermarks.from_json({"nodes": {"n": entry}}, snapshot.names)
    for name, task_row in tasks.items():
        if task_row["status"] in ("Allocated", "Binding"):
            snapshot.place_pod(Pod.from_json(task(name, task_row)), "n")
    return snapshot


def effective(plugin: VolcanoUsage) -> Row:
    model: Model = plugin.model
    return {
        "beCpuMilli": model.best_effort[0],
        "beMemBytes": model.best_effort[1],
        "burstRatio": model.burst_ratio,
        "cpuThreshold": plugin.thresholds[0],
        "cpuWeight": model.cpu_weight,
        "memThreshold": plugin.thresholds[1],
        "memoryWeight": model.memory_weight,
        "requestRatio": model.request_ratio,
        "riskFactor": model.risk_factor,
        "riskThreshold": model.risk_threshold,
        "usageWeight": plugin.usage_weight,
    }


@judge_each(lambda: vectors("volcano-usage"))
def test_volcano_usage_answers_as_volcano_does(row: Row) -> None:
    expected = row["expect"]
    plugin, snapshot = plugin_of("VolcanoUsage", row["args"]), cluster(row)
    assert effective(plugin) == expected["effective"]
    unordered = "orderDependentScores" in expected  # Volcano itself gives one of several scores
    warm = plugin.shadow(snapshot)[:, 0].tolist()
    if not unordered:
        assert warm == [expected["warmCpu"], expected["warmMem"]]

    used = float(plugin.used(snapshot)[0][0]), float(plugin.used(snapshot)[1][0])
    session = Shadow(plugin.model, used, (row["capacityCpuMilli"], row["capacityMemBytes"]), *warm)
    pods = [
        Pod.from_json(task(f"new-{position}", task_pod)) for position, task_pod in enumerate(row["allocatedInSession"])
    ]
    estimates, steps = [], []
    for task_pod in pods:
        before = session.cpu, session.memory
        estimates.append(session.add_pod(task_pod))
        steps.append([session.cpu - before[0], session.memory - before[1]])  # how the recorded ones were taken
    if not unordered:
        assert steps == expected["allocEstimates"]
    for task_pod in pods:
        snapshot.place_pod(task_pod, "n")
    for position in row["deallocatedIndexes"]:
        snapshot.remove_pod(pods[position].key)
        session.cpu = max(session.cpu - estimates[position][0], 0.0)
        session.memory = max(session.memory - estimates[position][1], 0.0)
    measured = bool(plugin.has_figures(snapshot)[0])
    score = float(plugin.model.score(*session.loads, plugin.usage_weight)[0]) if measured else 0.0
    if unordered:
        assert score in [pytest.approx(task_pod, rel=1e-12) for task_pod in expected["orderDependentScores"]]
    else:
        assert [session.cpu, session.memory] == [expected["shadowCpuMilli"], expected["shadowMemBytes"]]
        assert session.factor == expected["nextRiskFactor"]
        assert score == expected["score"]
    status, whole = answer(plugin, snapshot, pod("another"))
    assert status.reasons == REASONS[expected["predicate"]]
    assert str(status.code) == ("UnschedulableAndUnresolvable" if status.reasons else "Success")
    if not row["deallocatedIndexes"]:  # which Volcano takes off again as it counted them, not as it would now
        assert plugin.shadow(snapshot)[:, 0].tolist() == [session.cpu, session.memory]
        assert whole == (math.floor(float(plugin.model.score(*session.loads)[0]) + 0.5) if measured else 0)
