"""LoadAwareScheduling as Koordinator describes it; Koordinator's own answers are in tests/conformance."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.plugins.loadawarescheduling import LoadAwareScheduling, percent_of
from kschedweb.engine.releases import load
from kschedweb.engine.state.columns import ALL
from kschedweb.engine.state.watermarks.koordinator import FACTORS, USAGE_THRESHOLDS, expected_use, priority_class
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

NOW = 1795240800.0
CPU_EXCEEDED = "node(s) cpu usage exceed threshold"


def cluster(nodes: dict[str, Any], *objects: dict, age: float = 10.0, **more: Any) -> Snapshot:
    """Nodes of 4 CPU and 8 GiB; ``nodes`` are percent of CPU over five minutes, or the CPU's figures by key."""
    snapshot = Snapshot.from_objects([*(node(name) for name in nodes), *objects])
    figures = {
        name: {"updated": NOW - age, "cpu": level if isinstance(level, dict) else {"5m": level}}
        for name, level in nodes.items()
        if level is not None
    }
    snapshot.watermarks = Watermarks.from_json({"nodes": figures, **more}, snapshot.names)
    snapshot.now = NOW
    return snapshot


def asking(name: str, cpu: str = "1", **fields: Any) -> dict:
    """A pod that is expected to use 85 % of its CPU, and 200 MiB, of which 8 GiB have 2 %."""
    return pod(name, requests={"cpu": cpu}, **fields)


def scheduled(raw: dict, age: float) -> dict:
    time = datetime.fromtimestamp(NOW - age, UTC).isoformat()
    raw["status"] = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}]}
    return raw


def rejected(snapshot: Snapshot, raw: dict | None = None, **args: Any) -> list[str]:
    verdicts = LoadAwareScheduling(args).filter(Cycle(snapshot, Pod.from_json(raw or asking("new"))), ALL)
    return [verdicts.statuses[code].message for code in verdicts.codes]


def scores(snapshot: Snapshot, raw: dict | None = None, **args: Any) -> list[int]:
    node_scores: list[int] = (
        LoadAwareScheduling(args).score(Cycle(snapshot, Pod.from_json(raw or asking("new"))), ALL).tolist()
    )
    return node_scores


def test_percents_are_rounded_after_the_share_is_multiplied() -> None:
    # 100 × 580 ÷ 4000 is 14.5; 580 ÷ 4000 × 100 is a little less.
    assert percent_of(np.array([580]), np.array([4000])).tolist() == [14]


def test_a_threshold_is_exceeded_only_by_more_in_whole_percents() -> None:
    # 850 of 4000 milli-CPU are 21.25 % for the pod itself.
    assert rejected(cluster({"a": 44.2, "b": 44.3})) == ["", CPU_EXCEEDED]
    assert rejected(cluster({"a": 100.0}), usageThresholds={"cpu": 0, "memory": 95}) == [""]


def test_a_node_without_figures_passes_and_one_with_expired_figures_is_rejected() -> None:
    snapshot = cluster({"unknown": None, "known": 10})
    assert rejected(snapshot) == ["", ""]
    assert scores(snapshot) == [0, 82]
    snapshot.now = NOW + 170
    assert rejected(snapshot) == ["", "node(s) nodeMetric expired"]
    assert rejected(snapshot, enableScheduleWhenNodeMetricsExpired=True) == ["", ""]
    assert rejected(snapshot, filterExpiredNodeMetrics=False) == ["", ""]
    assert scores(snapshot) == [0, 0]
    snapshot.watermarks = None
    assert rejected(snapshot) == ["", ""]
    assert scores(snapshot) == [0, 0]


def test_figures_of_no_known_time_are_expired() -> None:
    snapshot = cluster({"a": 10})
    snapshot.watermarks = Watermarks.from_json({"nodes": {"a": {"cpu": {"5m": 10}}}}, ["a"])
    assert rejected(snapshot) == ["node(s) nodeMetric expired"]


def test_fifteen_minutes_stand_in_for_five() -> None:
    assert scores(cluster({"a": {"15m": 10}})) == scores(cluster({"a": {"5m": 10, "15m": 90}})) == [82]


def test_pods_of_daemon_sets_pass() -> None:
    raw = asking("agent")
    raw["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent"}]
    assert rejected(cluster({"a": 100}), raw) == [""]


def test_a_pod_counts_as_expected_until_a_whole_report_shows_it() -> None:
    use: dict[str, Any] = {"pods": {"default/p": {"cpu": 0.1, "memory": 0, "priorityClass": "koord-prod"}}}
    plugin = LoadAwareScheduling({})
    snapshots_by_age = {age: cluster({"a": 10}, scheduled(asking("p", on="a"), age), **use) for age in (69.9, 70.0)}
    assert [plugin.used(snapshot, False, None)[0, 0] for snapshot in snapshots_by_age.values()] == [400 + 750, 400]
    unmeasured = cluster({"a": 10}, scheduled(asking("p", on="a"), 1000), pods={})
    assert plugin.used(unmeasured, False, None)[0, 0] == 400 + 850
    placed = cluster({"a": 10})
    placed.place_pod(Pod.from_json(asking("p")), "a")
    assert plugin.used(placed, False, None)[0, 0] == 400 + 850


def test_where_single_pods_are_not_told_of_the_figures_are_taken_to_show_them_after_a_report() -> None:
    plugin = LoadAwareScheduling({})
    snapshots_by_age = {age: cluster({"a": 10}, scheduled(asking("p", on="a"), age)) for age in (69.9, 70.0)}
    assert [plugin.used(snapshot, False, None)[0, 0] for snapshot in snapshots_by_age.values()] == [400 + 850, 400]
    assert [plugin.used(snapshot, True, None)[0, 0] for snapshot in snapshots_by_age.values()] == [850, 850]


def test_annotations_of_a_pod_may_change_what_is_expected() -> None:
    raw = asking("p")
    raw["metadata"]["annotations"] = {FACTORS: json.dumps({"cpu": 50})}
    assert LoadAwareScheduling({}).expected(Pod.from_json(raw))[0] == 850
    assert LoadAwareScheduling({"allowCustomizeEstimation": True}).expected(Pod.from_json(raw))[0] == 500
    raw["metadata"]["annotations"] = {FACTORS: "{"}
    assert LoadAwareScheduling({"allowCustomizeEstimation": True}).expected(Pod.from_json(raw))[0] == 850


def test_a_node_s_annotation_changes_its_thresholds() -> None:
    snapshot = Snapshot.from_objects(
        [annotated("own", {"usageThresholds": {"cpu": 90}}), annotated("broken", "{"), node("c")]
    )
    snapshot.watermarks = Watermarks.from_json(
        {"nodes": {name: {"updated": NOW, "cpu": {"5m": 60}} for name in snapshot.names}}, snapshot.names
    )
    snapshot.now = NOW
    assert rejected(snapshot) == ["", CPU_EXCEEDED, CPU_EXCEEDED]


def annotated(name: str, thresholds: Any) -> dict:
    raw = node(name)
    raw["metadata"]["annotations"] = {
        USAGE_THRESHOLDS: thresholds if isinstance(thresholds, str) else json.dumps(thresholds)
    }
    return raw


def test_percentiles_take_the_window_that_is_asked_for_or_the_longest() -> None:
    snapshot = cluster({"a": {"5m": 10, "5m_p95": 30, "30m_p95": 70}})
    reason = "node(s) cpu aggregated usage exceed threshold"

    def list_reasons(window: str | None) -> list[str]:
        aggregated = {"usageThresholds": {"cpu": 65}, "usageAggregationType": "p95"}
        return rejected(snapshot, aggregated=aggregated | ({"usageAggregatedDuration": window} if window else {}))

    assert list_reasons("5m0s") == [""]
    assert list_reasons("30m0s") == list_reasons(None) == [reason]
    assert list_reasons("7m0s") == [""]  # what is measured is dropped: only what pods are expected to use counts


def test_pods_of_class_prod_may_be_held_against_their_own_use() -> None:
    args = {"prodUsageThresholds": {"cpu": 50}}
    old = scheduled(asking("p", on="a"), 1000)
    use = {"cpu": 1.5, "memory": 0, "priorityClass": "koord-prod"}
    snapshot = cluster({"a": {"5m": 90, "system": 10}}, old, pods={"default/p": use})
    assert rejected(snapshot, **args) == [CPU_EXCEEDED]  # 1500 + 850 of 4000 milli-CPU
    assert rejected(snapshot, asking("new", "500m"), **args) == [""]
    assert rejected(snapshot, asking("new", "500m"), prodUsageIncludeSys=True, **args) == [CPU_EXCEEDED]


@pytest.mark.parametrize(
    ("labels", "spec", "expected_class"),
    [
        ({"koordinator.sh/priority-class": "koord-mid"}, {}, "koord-mid"),
        ({}, {"priority": 9500}, "koord-prod"),
        ({}, {"priority": 5999}, "koord-batch"),
        ({"koordinator.sh/priority-class": "bogus"}, {"priority": 5999}, "koord-prod"),
        ({"koordinator.sh/qosClass": "BE"}, {}, "koord-batch"),
    ],
)
def test_the_priority_class_comes_from_label_priority_or_quality(labels: dict, spec: dict, expected_class: str) -> None:
    assert priority_class(Pod.from_json(asking("p", labels=labels, **spec))) == expected_class


def test_pods_of_class_batch_ask_for_oversold_resources() -> None:
    labels = {"koordinator.sh/priority-class": "koord-batch"}
    raw = pod("p", labels=labels, requests={"cpu": "4", "kubernetes.io/batch-cpu": "1000"})
    assert expected_use(Pod.from_json(raw), "cpu", 85) == 850
    assert expected_use(Pod.from_json(raw), "memory", 70) == 200 << 20


def test_the_fullest_resource_may_count_once_more() -> None:
    snapshot = cluster({"a": 10})
    assert scores(snapshot, resourceWeights={"cpu": 1}) == [68]
    assert scores(snapshot, resourceWeights={"memory": 1}) == [97]
    assert scores(snapshot, dominantResourceWeight=1) == [68]
    assert scores(snapshot, resourceWeights={"memory": 1}, dominantResourceWeight=1) == [82]


def loaded(**args: Any) -> Any:
    plugins = {"filter": {"enabled": [{"name": "LoadAwareScheduling"}]}}
    profile = {"plugins": plugins, "pluginConfig": [{"name": "LoadAwareScheduling", "args": args}]}
    return load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]})


@pytest.mark.parametrize(
    ("args", "expected_error"),
    [
        ({"nodeMetricExpirationSeconds": 0}, "nodeMetricExpiredSeconds should be a positive value"),
        ({"resourceWeights": {"cpu": 0}}, "resource Weight of cpu should be a positive value, got 0"),
        ({"resourceWeights": {"cpu": 101}}, "resource Weight of cpu should be less than 100, got 101"),
        ({"resourceWeights": {"gpu": 1}}, 'estimatedScalingFactors: Not found: "gpu"'),
        ({"usageThresholds": {"memory": -1}}, "resource Threshold of memory should be a positive value, got -1"),
        ({"estimatedScalingFactors": {"cpu": 101}}, "estimated resource ScalingFactor of cpu should be less than 100"),
        ({"dominantResourceWeight": -1}, "dominantResourceWeight should not be a negative value"),
        ({"dominantResourceWeight": 101}, "dominantResourceWeight should be less than 100"),
        ({"estimator": "mine"}, 'estimator: Unsupported value: "mine"'),
        ({"aggregated": {"usageAggregationType": "p42"}}, 'aggregated.usageAggregationType: Unsupported value: "p42"'),
        ({"aggregated": {"scoreAggregatedDuration": "-1m"}}, "duration must be >= 0"),
    ],
)
def test_arguments_are_refused_in_koordinator_s_words(args: dict, expected_error: str) -> None:
    assert any(expected_error in error for error in loaded(**args).errors), loaded(**args).errors


def test_defaults_are_koordinator_s() -> None:
    args = loaded(estimatedScalingFactors={"cpu": 100}).configuration.profiles[0].args["LoadAwareScheduling"]
    assert args["usageThresholds"] == {"cpu": 65, "memory": 95}
    assert args["resourceWeights"] == {"cpu": 1, "memory": 1}
    assert args["estimatedScalingFactors"] == {"cpu": 100, "memory": 70}
    assert args["nodeMetricExpirationSeconds"] == 180
    alone = loaded(dominantResourceWeight=1).configuration.profiles[0].args["LoadAwareScheduling"]
    assert not alone.get("resourceWeights")


def test_the_use_of_pods_is_read_with_its_place() -> None:
    watermarks = Watermarks.from_json(
        {"nodes": {"a": {"interval": 30}}, "pods": {"default/p": {"cpu": 0.5}}}, ["b", "a"]
    )
    assert watermarks.pods is not None
    assert watermarks.pods["default/p"].cpu == 0.5
    assert Watermarks.from_json({}, []).pods is None
    assert watermarks.interval is not None
    assert watermarks.align_to(["a"]).interval == [30.0]
    with pytest.raises(ObjectError, match=r"pods\.p: must be like namespace/name"):
        Watermarks.from_json({"pods": {"p": {}}}, [])
    with pytest.raises(ObjectError, match=r"pods\.default/p\.cpu: must be a finite number of at least 0"):
        Watermarks.from_json({"pods": {"default/p": {"cpu": -1}}}, [])
