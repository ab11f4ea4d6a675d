from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.__main__ import main
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.scenario import DeschedulingError, run_scenario
from tests.engine.rebalancing.building import node, pod, policy, scenario

OLD = policy("deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 60})


def list_evicted(raw: Json) -> list[str]:
    return [eviction["pod"] for eviction in run_scenario(raw, lambda: 0.0)["evicted"]]


def test_limits_of_a_cycle_hold_and_what_they_refuse_is_told() -> None:
    pods = [pod("p", "a"), pod("q", "a"), pod("r", "b")]
    limited = {**OLD, "maxNoOfPodsToEvictPerNode": 1}
    answer = run_scenario(scenario(limited, node("a"), node("b"), *pods), lambda: 0.0)
    assert [eviction["node"] for eviction in answer["evicted"]] == ["a", "b"]
    assert answer["failures"] == [{"error": "maximum number of evicted pods per node reached"}]


def test_a_budget_keeps_ready_pods_and_lets_others_go() -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
        "status": {"disruptionsAllowed": 0},
    }
    unready = pod("q", "b")
    unready["status"]["conditions"] = []
    answer = run_scenario(scenario(OLD, node("a"), node("b"), pod("p", "a"), unready, budget), lambda: 0.0)
    assert [eviction["pod"] for eviction in answer["evicted"]] == ["default/q"]
    [refused] = answer["failures"]
    assert refused["pod"] == "default/p"
    assert "disruption budget" in refused["error"]


def test_the_clock_stands_in_where_a_scenario_has_no_time() -> None:
    raw = scenario(OLD, node("a"), node("b"), pod("p", "a"))
    del raw["now"]
    assert list_evicted(raw) == [], "in 1970 the pod is from the future"
    assert [eviction["pod"] for eviction in run_scenario(raw, lambda: 4e9)["evicted"]] == ["default/p"]


def test_an_order_that_is_left_to_chance_is_told_as_such() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    nodes = [node("a"), node("b")]
    for raw_node in nodes:
        raw_node["metadata"]["labels"] = {"kubernetes.io/hostname": raw_node["metadata"]["name"]}
    pods = [pod(f"p{number}", "a", topologySpreadConstraints=[constraint], priority=number) for number in range(5)]
    spread = policy("balance", "RemovePodsViolatingTopologySpreadConstraint", {})
    answer = run_scenario(scenario(spread, *nodes, *pods), lambda: 0.0)
    assert not answer["ordered"]
    assert [eviction["pod"] for eviction in answer["evicted"]] == ["default/p3", "default/p4"]


def test_the_command_line_answers_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        json.dumps(scenario(OLD, node("a"), node("b"), pod("p", "a"))) + "\n\n" + json.dumps({**scenario(OLD)}) + "\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["deschedule", "--runs", "2", "--shuffles", "1"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["evicted"] == [{"pod": "default/p", "node": "a", "plugin": "PodLifeTime", "profile": "p"}]
    assert second["skipped"] == "Skipping descheduling cycle: requires >=2 nodes, found 0"


@pytest.mark.parametrize(
    ("text", "expected_error"),
    [
        ("[1", "line 1: is not JSON"),
        ("3", "line 1: must be a JSON object"),
        ('{"name": 3}', "line 1: name: must be a string"),
        ('{"policy": 3}', "line 1: policy: must be an object"),
        ('{"policy": {}, "objects": [3]}', "line 1: objects[0]: must be an object"),
        ('{"policy": {}, "objects": [{}]}', "line 1: objects[0] (object (no name)): kind: is missing"),
        (
            '{"name": "s", "policy": {}, "objects": [{"kind": "Pod"}]}',
            "line 1: s: objects[0] (Pod (no name)): metadata",
        ),
        ('{"policy": {}, "now": "noon"}', "line 1: now: must be a time"),
        ('{"policy": {}, "metrics": {"nodes": {"a": {"cpu": "x"}}}}', "line 1: metrics.nodes.a.cpu: "),
        ('{"policy": {}, "metrics": {"prometheus": {"a": "x"}}}', "line 1: metrics.prometheus.a: must be a number"),
    ],
)
def test_bad_input_ends_with_one_line_that_says_where(
    text: str, expected_error: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["deschedule"]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert expected_error in err


WHOLE = {
    **scenario(
        policy(
            "balance",
            "LowNodeUtilization",
            {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 20}},
            {"nodeFit": True, "minReplicas": 2, "labelSelector": {"matchLabels": {"app": "web"}}},
        ),
        node("a"),
        node("b"),
        *(pod(f"p{number}", "a", "500m") for number in range(4)),
    )
}
ANYTHING = st.sampled_from([None, 0, -1, 2**70, 1.5, True, "", "x", "1e5000000", "0" * 2000, [], [3], {}, {"x": 3}])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each part of ``value``."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def test_the_scenario_that_is_damaged_evicts_while_it_is_whole() -> None:
    assert list_evicted(WHOLE) == ["default/p3", "default/p2"], "b may have 800m, and each of them asks for 500m"


@given(st.sampled_from(list(places(WHOLE))), ANYTHING)
def test_a_damaged_scenario_is_answered_or_refused_in_words(path: tuple[Any, ...], value: Any) -> None:
    raw = copy.deepcopy(WHOLE)
    part: Any = raw
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with suppress(DeschedulingError):
        assert run_scenario(raw, lambda: 0.0, runs=1, shuffles=1)["evicted"] is not None
