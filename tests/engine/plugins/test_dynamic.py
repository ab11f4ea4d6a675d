"""Dynamic as crane-scheduler describes and ships it; its own answers are in tests/conformance."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.plugins.dynamic import Dynamic
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

NOW = 1795240800.0  # two in the afternoon in Shanghai
SHANGHAI = ZoneInfo("Asia/Shanghai")
CPU = "cpu_usage_avg_5m"
SINGLE_METRIC = {
    "syncPolicy": [{"name": CPU, "period": "3m"}],
    "predicate": [{"name": CPU, "maxLimitPecent": 0.65}],
    "priority": [{"name": CPU, "weight": 1}],
}


def annotated(name: str, annotations: dict[str, float] | None = None, *, age: float = 60.0, **fields: Any) -> dict:
    raw = node(name, **fields)
    texts = {key: crane.write_usage(value, NOW - age, SHANGHAI) for key, value in (annotations or {}).items()}
    raw["metadata"]["annotations"] = texts
    return raw


def cluster(*objects: dict, watermarks: dict | None = None) -> Snapshot:
    snapshot = Snapshot.from_objects(objects)
    if watermarks is not None:
        snapshot.watermarks = Watermarks.from_json({"nodes": watermarks}, snapshot.names)
    snapshot.now = NOW
    return snapshot


def explain(snapshot: Snapshot, raw: dict | None = None, **args: Any) -> dict:
    plugins = {
        "filter": {"enabled": [{"name": "Dynamic"}]},
        "score": {"enabled": [{"name": "Dynamic"}], "disabled": [{"name": "*"}]},
    }
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    loaded = load({**CONFIGURATION, "profiles": [{**profile, "pluginConfig": [{"name": "Dynamic", "args": args}]}]})
    assert loaded.configuration is not None, loaded.errors
    return Scheduler(snapshot, loaded.configuration).explain(Pod.from_json(raw or pod("new"))).to_dict()


def scores(snapshot: Snapshot, **args: Any) -> dict[str, int]:
    raw_by_node: dict[str, int] = explain(snapshot, **args)["scores"]["Dynamic"]["raw"]
    return raw_by_node


def reasons(snapshot: Snapshot, raw: dict | None = None, **args: Any) -> dict[str, list[str]]:
    """The reasons of the nodes that are rejected."""
    verdicts = explain(snapshot, raw, **args)["filters"].get("Dynamic", {})
    return {name: verdict["reasons"] for name, verdict in verdicts.items()}


def bound(name: str, on: str, age: float) -> dict:
    raw = pod(name, on=on)
    time = np.datetime64(int(NOW - age), "s")
    raw["status"] = {
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": f"{time}Z"}],
    }
    return raw


def test_a_limit_is_exceeded_only_by_more() -> None:
    snapshot = cluster(*(annotated(name, {CPU: use}) for name, use in (("at", 0.65), ("above", 0.65001))))
    refusals = reasons(snapshot, policy=SINGLE_METRIC)
    assert refusals == {"above": ["Load[cpu_usage_avg_5m] of node[above] is too high"]}


def test_pods_of_daemon_sets_pass_everywhere() -> None:
    raw = pod("agent")
    raw["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent"}]
    assert reasons(cluster(annotated("full", {CPU: 1.0})), raw, policy=SINGLE_METRIC) == {}


def test_the_shipped_policy_is_the_default() -> None:
    use = {"cpu_usage_avg_5m": 0.3, "cpu_usage_max_avg_1h": 0.4, "cpu_usage_max_avg_1d": 0.5}
    use |= {"mem_usage_avg_5m": 0.2, "mem_usage_max_avg_1h": 0.3, "mem_usage_max_avg_1d": 0.4}
    assert scores(cluster(annotated("n", use))) == {"n": 62}
    assert Dynamic({}).weights == Dynamic({"policy": crane.SAMPLE_POLICY}).weights


def test_a_missing_metric_scores_nothing_and_keeps_its_weight() -> None:
    policy = {
        **SINGLE_METRIC,
        "priority": [{"name": CPU, "weight": 0.2}, {"name": "cpu_usage_max_avg_1h", "weight": 0.3}],
    }
    assert scores(cluster(annotated("n", {CPU: 0.0})), policy=policy) == {"n": 40}


def test_an_expired_annotation_passes_the_filter_and_scores_as_a_missing_one() -> None:
    nodes = [annotated("fresh", {CPU: 0.6}, age=479), annotated("expired", {CPU: 0.9}, age=480), annotated("missing")]
    snapshot = cluster(*nodes)
    assert reasons(snapshot, policy=SINGLE_METRIC) == {}
    assert scores(snapshot, policy=SINGLE_METRIC) == {"fresh": 40, "expired": 0, "missing": 0}


def test_an_annotation_read_in_another_time_zone_counts_for_hours_too_long_or_not_at_all() -> None:
    snapshot = cluster(annotated("n", {CPU: 0.6}, age=600))
    assert scores(snapshot, policy=SINGLE_METRIC) == {"n": 0}
    assert scores(snapshot, policy=SINGLE_METRIC, timeZone="UTC") == {"n": 40}  # eight hours ahead, so still young
    assert scores(cluster(annotated("n", {CPU: 0.6})), policy=SINGLE_METRIC, timeZone="Asia/Tokyo") == {"n": 0}


def test_watermarks_stand_in_for_annotations_that_are_not_there() -> None:
    figures = {"updated": NOW - 60, "cpu": {"5m": 60.0}}
    nodes = [annotated("told", {CPU: 0.2}), annotated("expired", {CPU: 0.2}, age=1000), annotated("measured")]
    snapshot = cluster(*nodes, watermarks={name: figures for name in ("told", "expired", "measured")})
    assert scores(snapshot, policy=SINGLE_METRIC) == {"told": 80, "expired": 0, "measured": 40}
    stale = {"measured": {**figures, "updated": NOW - 480}}
    assert scores(cluster(annotated("measured"), watermarks=stale), policy=SINGLE_METRIC) == {"measured": 0}


def test_watermarks_of_allocatable_are_turned_into_use_of_capacity() -> None:
    raw = annotated("n", allocatable={"cpu": "3"})
    raw["status"]["capacity"] = {"cpu": "4", "memory": "8Gi"}
    snapshot = cluster(raw, watermarks={"n": {"updated": NOW, "cpu": {"5m": 80.0}}})
    assert Dynamic({"policy": SINGLE_METRIC}).metric_use(snapshot, CPU).usage.tolist() == [pytest.approx(0.6)]


def test_a_node_is_hot_as_its_annotation_says() -> None:
    raw = annotated("n", {CPU: 0.1})
    raw["metadata"]["annotations"][crane.HOT_VALUE] = crane.write_hot_value(3, NOW - 10, SHANGHAI)
    pods = [bound(f"p{at}", "n", 10) for at in range(50)]
    assert scores(cluster(raw, *pods), policy={**SINGLE_METRIC, "hotValue": [{"timeRange": "5m", "count": 5}]}) == {
        "n": 60
    }


def test_without_that_annotation_it_is_hot_by_the_pods_bound_lately_in_whole_numbers() -> None:
    rules = [{"timeRange": "5m", "count": 5}, {"timeRange": "1m", "count": 2}]
    pods = [bound(f"old{at}", "n", 200) for at in range(3)] + [bound(f"new{at}", "n", 10) for at in range(3)]
    snapshot = cluster(annotated("n", {CPU: 0.1}), annotated("cool", {CPU: 0.1}), *pods, bound("gone", "cool", 301))
    assert Dynamic({"policy": {**SINGLE_METRIC, "hotValue": rules}}).hot_values(snapshot).tolist() == [2.0, 0.0]
    assert scores(snapshot, policy={**SINGLE_METRIC, "hotValue": rules}) == {"n": 70, "cool": 90}


def test_a_node_cools_down_as_time_passes_and_heats_up_with_each_pod() -> None:
    plugin = Dynamic({"policy": {**SINGLE_METRIC, "hotValue": [{"timeRange": "1m", "count": 1}]}})
    snapshot = cluster(annotated("n"), bound("p", "n", 10))
    assert plugin.hot_values(snapshot).tolist() == [1.0]
    snapshot.place_pod(Pod.from_json(pod("another")), "n")
    assert plugin.hot_values(snapshot).tolist() == [2.0]
    snapshot.now = NOW + 49.9
    assert plugin.hot_values(snapshot).tolist() == [2.0]
    snapshot.now = NOW + 50
    assert plugin.hot_values(snapshot).tolist() == [1.0]
    snapshot.now = NOW + 60
    assert plugin.hot_values(snapshot).tolist() == [0.0]


def test_only_the_latest_bindings_of_all_nodes_are_remembered() -> None:
    plugin = Dynamic({"policy": {**SINGLE_METRIC, "hotValue": [{"timeRange": "5m", "count": 1}]}})
    snapshot = cluster(annotated("first"), annotated("second"))
    for position in range(10):
        snapshot.add_pod(Pod.from_json(bound(f"early{position}", "first", 200)), 0)
    for position in range(crane.HEAP_SIZE - 4):
        snapshot.add_pod(Pod.from_json(bound(f"late{position}", "second", 100)), 1)
    assert plugin.hot_values(snapshot).tolist() == [4.0, crane.HEAP_SIZE - 4]


def test_a_heat_below_zero_is_none() -> None:
    plugin = Dynamic({"policy": {**SINGLE_METRIC, "hotValue": [{"timeRange": "5m", "count": -1}]}})
    assert plugin.hot_values(cluster(annotated("n"), bound("p", "n", 10))).tolist() == [0.0]


def loaded(**args: Any) -> Any:
    profile = {
        "plugins": {"score": {"enabled": [{"name": "Dynamic"}]}},
        "pluginConfig": [{"name": "Dynamic", "args": args}],
    }
    return load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]})


@pytest.mark.parametrize(
    ("args", "expected_error"),
    [
        ({"timeZone": "Mars/Olympus"}, 'args.timeZone: Invalid value: "Mars/Olympus": there is no time zone'),
        ({"timeZone": "../etc/passwd"}, "args.timeZone: Invalid value"),
        (
            {"policy": {"hotValue": [{"timeRange": "5m", "count": 0}]}},
            "hotValue[0].count: Invalid value: 0: must not be 0",
        ),
        ({"policy": {"priority": [{"weight": 1}]}}, 'priority[0].name: Invalid value: ""'),
        ({"policy": {"syncPolicy": [{"name": CPU, "period": "5"}]}}, "missing unit in duration"),
    ],
)
def test_arguments_that_cannot_work_are_refused(args: dict, expected_error: str) -> None:
    assert any(expected_error in error for error in loaded(**args).errors)


def test_what_looks_wrong_is_said() -> None:
    policy = {
        **SINGLE_METRIC,
        "predicate": [{"name": "gpu", "maxLimitPecent": 1}],
        "priority": [{"name": CPU, "weight": 0}],
    }
    warnings = "\n".join(loaded(policyConfigPath="/etc/policy.yaml", policy=policy).warnings)
    assert "args.policyConfigPath: is not read, since policy is written here too" in warnings
    assert 'args.policy.predicate[0]: "gpu" has no syncPolicy, so no node is above it' in warnings
    assert "args.policy.priority: the weights sum to 0" in warnings
    assert "not part of kube-scheduler" in warnings


def test_a_policy_that_is_written_stands_for_itself() -> None:
    result = loaded(policy={"syncPolicy": SINGLE_METRIC["syncPolicy"]})
    assert any("args.policy: lists no priority, so every node scores 0" in warning for warning in result.warnings)
    assert scores(cluster(annotated("n", {CPU: 0.1})), policy={"syncPolicy": SINGLE_METRIC["syncPolicy"]}) == {"n": 0}


def test_the_default_policy_is_written_out() -> None:
    config = loaded().configuration.document["profiles"][0]["pluginConfig"]
    args = next(item["args"] for item in config if item["name"] == "Dynamic")
    assert args["timeZone"] == "Asia/Shanghai"
    assert args["policy"] == crane.SAMPLE_POLICY


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(0, 400)), max_size=40),
    st.lists(st.tuples(st.integers(1, 300), st.integers(1, 4)), min_size=1, max_size=3),
    st.floats(0, 100),
    st.sampled_from((8, crane.HEAP_SIZE)),
)
def test_the_heat_is_what_crane_s_records_would_give(
    pods: list[tuple[int, float]], rules: list[tuple[int, int]], later: float, size: int
) -> None:
    policy = [{"timeRange": f"{span}s", "count": count} for span, count in rules]
    plugin = Dynamic({"policy": {"hotValue": policy}})
    snapshot, records = cluster(annotated("a"), annotated("b")), crane.BindingRecords(size)
    for position, (place, age) in sorted(enumerate(pods), key=lambda item: -item[1][1]):
        snapshot.now = NOW - age
        snapshot.place_pod(Pod.from_json(pod(f"p{position}")), "ab"[place])
        records.add_binding("ab"[place], math.floor(NOW - age))
    snapshot.now = NOW + later
    # Of bindings within one second crane forgets any; so they are looked at only where none has to be forgotten.
    seconds = [math.floor(NOW - age) for _, age in pods]
    if len(set(seconds)) < len(seconds) and len(seconds) > size:
        return
    expected = [crane.hot_value(records.binding_times(name), snapshot.now, plugin.hot_rules) for name in "ab"]
    with patch.object(crane, "HEAP_SIZE", size):
        assert plugin.hot_values(snapshot).tolist() == expected
