"""The plugins of scheduler-plugins against what its own code answered."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.lowriskovercommitment import (
    beta_shapes,
    compute_probability,
    limit_risk,
    pod_requests_and_limits,
    total_risk,
)
from kschedweb.engine.plugins.peaks import Peaks, cheapest_first
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.state.columns import ALL
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.state.watermarks.trimaran import TrimaranUse
from tests.conformance.batches import judge_each
from tests.conformance.load_aware import answers_of, files, function_of
from tests.engine.builders import CONFIGURATION

Row = dict[str, Any]
Metrics = list[Row] | None
TRIMARAN = ("targetloadpacking", "loadvariationriskbalancing", "lowriskovercommitment", "pkg/trimaran/peaks")
OTHER_SCHEDULERS = ("pkg/plugins/dynamic", "pkg/controller/annotator", "plugins/loadaware", "scheduler/plugins/usage")
TYPES = {"cpu": "CPU", "memory": "Memory"}
UNDEFINED = "platform-defined"
# Shapes that add up to more: upstream's function may fail and give 0, where the true value is 1/2 (note 9).
GIVEN_UP = 1e10


def test_every_file_is_asked_about() -> None:
    functions = {path.name: function_of(path) for path in files()}
    assert len(functions) >= 9
    for name, function in functions.items():
        assert any(part in function for part in (*TRIMARAN, *OTHER_SCHEDULERS)), name


def arguments(plugin: str, **args: Any) -> dict[str, Any]:
    """Return the plugin's arguments in a profile that sets ``args``, defaulted and validated; None: not set."""
    set_args = {name: value for name, value in args.items() if value is not None}
    profile: Row = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": [{"name": plugin}]}},
        "pluginConfig": [{"name": plugin, "args": set_args}],
    }
    loaded = load({**CONFIGURATION, "profiles": [profile]})
    assert loaded.configuration is not None, loaded.errors
    effective_args: dict[str, Any] = loaded.configuration.profiles[0].args[plugin]
    return effective_args


def container(row: Row, *, explicit: bool) -> Row:
    """``explicit``: a request that is absent is written as 0.

    So the API server's default, the limit, does not take its place: the vectors' pods did not go through one.
    """
    resources: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for kind, prefix in (("requests", "req"), ("limits", "lim")):
        for name, key, unit in (("cpu", "CpuMilli", "m"), ("memory", "MemBytes", "")):
            amount = row[prefix + key]
            if amount is not None:
                resources[kind][name] = f"{amount}{unit}"
            elif explicit and kind == "requests":
                resources[kind][name] = "0"
    return {"name": "main", "resources": resources}


def pod(row: Row, name: str = "new", *, explicit: bool = True, on: str = "", bound: float | None = None) -> Row:
    overhead = {
        name: f"{row[key]}{unit}"
        for name, key, unit in (("cpu", "overheadCpuMilli", "m"), ("memory", "overheadMemBytes", ""))
        if row[key] is not None
    }
    spec: Row = {
        "containers": [container(item, explicit=explicit) for item in row["containers"]],
        "initContainers": [container(item, explicit=explicit) for item in row["initContainers"]],
        "overhead": overhead,
        "nodeName": on,
    }
    status = {}
    if bound is not None:
        time = datetime.fromtimestamp(bound, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}]}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status}


def node(row: Row, name: str = "n") -> Row:
    status = {
        kind: {
            "cpu": f"{row[cpu]}m",
            "memory": str(row.get(memory) or 0),
            "pods": "500",
        }
        for kind, cpu, memory in (
            ("allocatable", "nodeAllocatableCpuMilli", "nodeAllocatableMemBytes"),
            ("capacity", "nodeCapacityCpuMilli", "nodeCapacityMemBytes"),
        )
    }
    return {"kind": "Node", "metadata": {"name": name}, "status": status}


def cluster(nodes: list[Row], pods: list[Row] | None = None) -> Snapshot:
    snapshot = Snapshot.from_objects([*nodes, *(pods or [])])
    assert snapshot.problems == []
    return snapshot


def watch(snapshot: Snapshot, metrics: list[Metrics], figures: dict[tuple[str, str], list[float]], end: float) -> None:
    """Give the snapshot what the watcher told of each node; None or no metric: nothing."""
    updated = np.array([end if node_metrics else math.nan for node_metrics in metrics])
    columns = {key: np.array(values) for key, values in figures.items()}
    snapshot.watermarks = Watermarks(list(snapshot.names), updated, columns, source="watcher")


def last_or_first(metrics: Metrics, *, last: bool) -> float:
    """CPU as TargetLoadPacking (the last) and Peaks (the first) choose it: operator AVG or Latest; else NaN."""
    chosen = [
        metric["value"]
        for metric in metrics or ()
        if metric["type"] == "CPU" and metric["operator"] in ("AVG", "Latest")
    ]
    return chosen[-1 if last else 0] if chosen else math.nan


def mean_and_deviation(metrics: Metrics, resource: str) -> tuple[float, float]:
    """As LoadVariationRiskBalancing and LowRiskOverCommitment choose: the last AVG, else the last of "" and Latest."""
    values_by_operator = [
        (metric["operator"], metric["value"]) for metric in metrics or () if metric["type"] == TYPES[resource]
    ]
    means = [value for operator, value in values_by_operator if operator == "AVG"]
    means = means or [value for operator, value in values_by_operator if operator in ("", "Latest")]
    deviations = [value for operator, value in values_by_operator if operator == "STD"]
    # An operator that nobody knows makes the resource measured, with mean 0.
    mean = means[-1] if means else 0.0 if values_by_operator and not deviations else math.nan
    return mean, deviations[-1] if deviations else math.nan


def observed(row: Row, pods: list[Row] | None = None) -> Snapshot:
    """The one node of a case with the figures of its metrics, in percent of allocatable."""
    snapshot, metrics = cluster([node(row)], pods), row["nodeMetrics"]
    if not row["watcherDown"]:
        figures = {}
        for resource in TYPES:
            mean, deviation = mean_and_deviation(metrics, resource)
            figures[resource, "15m"], figures[resource, "15m_std"] = [mean], [deviation]
        watch(snapshot, [metrics], figures, 1.0)
    return snapshot


def score(plugin: str, args: dict[str, Any], snapshot: Snapshot, raw: Row) -> int:
    plugin_instance = CURRENT.factories[plugin](args)
    [node_score] = plugin_instance.score(Cycle(snapshot, Pod.from_json(raw)), ALL).tolist()
    assert isinstance(node_score, int)
    return node_score


@judge_each(lambda: answers_of("targetloadpacking"))
def test_target_load_packing(row: Row) -> None:
    milli = row["defaultRequestsCpuMilli"]
    args = arguments(
        "TargetLoadPacking",
        targetUtilization=row["targetUtilization"],
        defaultRequests=None if milli is None else {"cpu": f"{milli}m"},
        defaultRequestsMultiplier=row["defaultRequestsMultiplier"],
    )
    effective, plugin = row["expect"]["effective"], CURRENT.factories["TargetLoadPacking"](args)
    assert plugin.target == effective["targetUtilization"]
    assert plugin.default == effective["defaultRequestsCpuMilli"]
    assert plugin.multiplier == effective["multiplier"]
    recent = [
        pod(recent_row, f"recent-{index}", explicit=False, on="n", bound=recent_row["ts"])
        for index, recent_row in enumerate(row["recentPods"])
    ]
    snapshot, raw = cluster([node(row)], recent), pod(row["pod"], explicit=False)
    predicted = [plugin.predicted_of(container) for container in Pod.from_json(raw).resources.containers]
    assert predicted == row["expect"]["podContainersPredictedMilli"]
    if not row["watcherDown"]:
        figures = {("cpu", "15m_capacity"): [last_or_first(row["nodeMetrics"], last=True)]}
        watch(snapshot, [row["nodeMetrics"]], figures, row["windowEnd"])
    assert score("TargetLoadPacking", args, snapshot, raw) == row["expect"]["score"]


@judge_each(lambda: answers_of("loadvariationriskbalancing"))
def test_load_variation_risk_balancing(row: Row) -> None:
    margin_args = {name: row[name] for name in ("safeVarianceMargin", "safeVarianceSensitivity")}
    args, expected = arguments("LoadVariationRiskBalancing", **margin_args), row["expect"]
    plugin = CURRENT.factories["LoadVariationRiskBalancing"](args)
    assert (plugin.margin, plugin.sensitivity) == (
        expected["effective"]["margin"],
        expected["effective"]["sensitivity"],
    )
    snapshot, raw = observed(row), pod(row["pod"])
    requested = pod_requests_and_limits(Pod.from_json(raw))[:2]
    assert requested == (expected["podRequestCpuMilli"], expected["podRequestMemBytes"])
    for resource, request, key in zip(TYPES, requested, ("cpuScore", "memScore"), strict=True):
        if expected[key] is not None:
            assert snapshot.watermarks is not None
            measured = TrimaranUse.from_watermarks(snapshot.watermarks, resource, ALL)
            assert measured.measured.all()
            allocatable = snapshot.resource_row(snapshot.allocatable, resource)
            [resource_score] = plugin.resource_scores(measured, allocatable, request)
            assert resource_score == pytest.approx(expected[key], rel=1e-12, abs=0)
        elif snapshot.watermarks is not None:
            assert not TrimaranUse.from_watermarks(snapshot.watermarks, resource, ALL).measured.any()
    assert score("LoadVariationRiskBalancing", args, snapshot, raw) == expected["score"]


@judge_each(lambda: answers_of("lowriskovercommitment New"))
def test_low_risk_over_commitment(row: Row) -> None:
    risk_args = {name: row[name] for name in ("smoothingWindowSize", "riskLimitWeights")}
    args, expected = arguments("LowRiskOverCommitment", **risk_args), row["expect"]
    plugin, effective = CURRENT.factories["LowRiskOverCommitment"](args), expected["effective"]
    assert plugin.window == effective["smoothingWindowSize"]
    assert plugin.weights == {"cpu": effective["weightCpu"], "memory": effective["weightMem"]}
    bound = [pod(pod_row, f"there-{index}", on="n") for index, pod_row in enumerate(row["podsOnNode"])]
    snapshot, raw = observed(row, bound), pod(row["pod"])
    pod_amounts = pod_requests_and_limits(Pod.from_json(raw))
    assert [list(pod_amounts[:2]), list(pod_amounts[2:])] == [expected["podRequests"], expected["podLimits"]]
    for place, (resource, key) in enumerate({"cpu": "Cpu", "memory": "Mem"}.items()):
        amounts = plugin.node_requests_and_limits(snapshot, pod_amounts, resource)
        assert [amounts.request[0], amounts.limit[0], amounts.request_before[0], amounts.limit_before[0]] == [
            expected[name][place] for name in ("nodeRequest", "nodeLimit", "nodeRequestMinusPod", "nodeLimitMinusPod")
        ]
        assert limit_risk(amounts)[0] == pytest.approx(expected[f"riskLimit{key}"], abs=1e-9)
        if snapshot.watermarks is not None:
            measured = TrimaranUse.from_watermarks(snapshot.watermarks, resource, ALL)
            load = plugin.load_risk(measured, amounts)
            assert load[0] == pytest.approx(expected[f"riskLoad{key}"], abs=1e-9)
            total = total_risk(limit_risk(amounts), load, plugin.weights[resource])
            assert total[0] == pytest.approx(expected[f"risk{key}"], abs=1e-9)
    cycle = Cycle(snapshot, Pod.from_json(raw))
    if row["preScore"]:
        assert plugin.pre_score(cycle, ALL).ok
    assert plugin.score(cycle, ALL).tolist() == [expected["score"]]


@judge_each(lambda: answers_of("ComputeProbability"))
def test_the_beta_distribution_of_low_risk_over_commitment(row: Row) -> None:
    mean, deviation, threshold = (np.array([float(row[key])]) for key in ("mu", "sigma", "threshold"))
    expected = row["expect"]
    [probability], [alpha], [beta] = compute_probability(mean, deviation, threshold)
    if expected["alpha"] is None:
        assert np.isnan([alpha, beta]).all()
    else:
        assert [alpha, beta] == pytest.approx([expected["alpha"], expected["beta"]], rel=1e-12)
        assert beta_shapes(mean, deviation)[2].all()
    if expected["alpha"] is not None and expected["alpha"] + expected["beta"] > GIVEN_UP and expected["prob"] == 0:
        assert abs(mean[0] - threshold[0]) < 1e-9 or probability == pytest.approx(0, abs=1e-9)
        return
    assert probability == pytest.approx(expected["prob"], abs=1e-9)


@judge_each(lambda: answers_of("pkg/trimaran/peaks"))
def test_peaks(row: Row) -> None:
    models = {node_row["name"]: node_row["model"] for node_row in row["nodes"] if node_row["model"] is not None}
    plugin = CURRENT.factories["Peaks"](arguments("Peaks", nodePowerModel=models))
    described = [
        node(
            {
                "nodeAllocatableCpuMilli": node_row["allocatableCpuMilli"],
                "nodeCapacityCpuMilli": node_row["capacityCpuMilli"],
            },
            node_row["name"],
        )
        for node_row in row["nodes"]
    ]
    snapshot = cluster(described)
    assert snapshot.names == [node_row["name"] for node_row in row["nodes"]]
    metrics = [node_row["metrics"] for node_row in row["nodes"]]
    watch(
        snapshot,
        metrics,
        {("cpu", "15m_capacity"): [last_or_first(node_metrics, last=False) for node_metrics in metrics]},
        1.0,
    )
    cycle = Cycle(snapshot, Pod.from_json(pod(row["pod"])))
    raw = np.array([int(text) for text in row["expect"]["raw"]], dtype=np.int64)
    if UNDEFINED not in row["case"]:
        assert (np.abs(plugin.score(cycle, ALL) - raw) <= tolerance(plugin, snapshot, cycle.pod)).all()
    assert plugin.normalize_score(cycle, ALL, raw).tolist() == row["expect"]["normalized"]
    assert cheapest_first(raw).tolist() == row["expect"]["normalized"]


def tolerance(plugin: Peaks, snapshot: Snapshot, pod: Pod) -> np.ndarray:
    """Go's exponential function may differ in its last bit, which the scale of raw scores makes visible."""
    (use, expected), (k1, k2) = plugin.cpu_use(snapshot, pod), plugin.model_factors(snapshot)
    largest = np.nan_to_num(np.maximum(use, expected))
    bound: np.ndarray = 2 * np.abs(k1) * np.exp(k2 * largest) * 1e15 * 2**-52
    return bound
