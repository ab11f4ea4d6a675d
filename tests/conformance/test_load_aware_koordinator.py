"""Koordinator's own answers: LoadAwareScheduling, with its NodeMetric as watermarks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.state.watermarks.koordinator import priority_class
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.conformance.batches import judge_each
from tests.conformance.load_aware import answer, containers, loaded_with, plugin_of, vectors
from tests.engine.builders import node, pod

Row = dict[str, Any]
NOW = 1795240800.0
REASONS = {
    "": (),
    "expired": ("node(s) nodeMetric expired",),
    "cpu": ("node(s) cpu usage exceed threshold",),
    "memory": ("node(s) memory usage exceed threshold",),
    "agg:cpu": ("node(s) cpu aggregated usage exceed threshold",),
    "agg:memory": ("node(s) memory aggregated usage exceed threshold",),
}


def described(row: Row, on: str = "") -> Row:
    raw = pod(row["name"], on=on)
    raw["spec"] |= {"containers": containers(row["containers"]), "initContainers": containers(row["initContainers"])}
    if row["overheadCpuMilli"] is not None:
        raw["spec"]["overhead"] = {"cpu": f"{row['overheadCpuMilli']}m"}
    if row["priorityClassLabel"]:
        raw["metadata"]["labels"]["koordinator.sh/priority-class"] = row["priorityClassLabel"]
    if row["daemonSet"]:
        raw["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent"}]
    ages = {"PodScheduled": row["scheduledAgeSeconds"], "Initialized": row["initializedAgeSeconds"]}
    raw["status"] = {
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": datetime.fromtimestamp(NOW - age, UTC).isoformat()}
            for kind, age in ages.items()
            if age is not None
        ]
    }
    return raw


AMOUNTS = {"cpu": "cpuMilli", "memory": "memBytes"}


def percents(amounts: Row, allocatable: Row) -> dict[str, float]:
    """Of a resource that the node has none of, there are no percents: nothing is then scored or held against it."""
    return {
        name: 100.0 * amounts[key] / allocatable[key] if allocatable[key] else 0.0
        for name, key in AMOUNTS.items()
        if amounts[key] is not None
    }


def figures(row: Row) -> Row:
    """The NodeMetric in the form of watermarks."""
    metric = row["nodeMetric"]
    if metric is None:
        return {}
    entry: Row = {"cpu": {}, "memory": {}, "interval": metric["reportIntervalSeconds"]}
    if metric["updateAgeSeconds"] is not None:
        entry["updated"] = NOW - metric["updateAgeSeconds"]
    usage_by_key = {"5m": metric["nodeUsage"], "system": metric["systemUsage"]}
    for aggregated in metric["aggregated"]:
        usage_by_key |= {f"{aggregated['durationSeconds']}s_{kind}": use for kind, use in aggregated["usage"].items()}
    for key, amounts in usage_by_key.items() if not metric["nodeMetricNil"] else ():
        if amounts is not None:
            for resource, percent in percents(amounts, row["allocatable"]).items():
                entry[resource][key] = percent
    pods = {
        f"default/{use['name']}": {
            "cpu": None if use["cpuMilli"] is None else use["cpuMilli"] / 1000,
            "memory": use["memBytes"],
            "priorityClass": use["priority"],
        }
        for use in metric["pods"]
    }
    return {"nodes": {"n": entry}, "pods": pods}


def cluster(row: Row) -> Snapshot:
    allocatable = {"cpu": f"{row['allocatable']['cpuMilli']}m", "memory": str(row["allocatable"]["memBytes"])}
    raw = node("n", allocatable=allocatable)
    raw["metadata"]["annotations"] = row["nodeAnnotations"]
    snapshot = Snapshot.from_objects([raw, *(described(pod_row, "n") for pod_row in row["podsOnNode"])])
    snapshot.now = NOW
    snapshot.watermarks = Watermarks.from_json(figures(row), snapshot.names)
    return snapshot


@judge_each(lambda: vectors("koordinator-load-aware"))
def test_load_aware_scheduling_answers_as_koordinator_does(row: Row) -> None:
    expected = row["expect"]
    if expected.get("newError"):
        assert loaded_with("LoadAwareScheduling", row["args"]).errors
        return
    plugin, snapshot, raw = plugin_of("LoadAwareScheduling", row["args"]), cluster(row), described(row["pod"])
    assert priority_class(Pod.from_json(raw)) == expected["podPriorityClass"]
    rows = {plugin.resources.index(name): key for name, key in AMOUNTS.items()}
    assert {key: plugin.expected(Pod.from_json(raw))[row] for row, key in rows.items()} == expected["podEstimated"]
    for prod, amounts in ((False, expected["existingAll"]), (True, expected["existingProd"])):
        if amounts is not None and all(row["allocatable"].values()):
            used = plugin.used(snapshot, prod, None)[:, 0]
            assert {key: used[place] for place, key in rows.items()} == amounts
    status, score = answer(plugin, snapshot, raw)
    assert str(status.code) == expected["filterCode"]
    assert status.reasons == REASONS[expected["rejectedBy"]]
    assert score == expected["score"]
