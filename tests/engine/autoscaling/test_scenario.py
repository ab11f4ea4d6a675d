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
from kschedweb.engine.autoscaling.scenario import AutoscalingError, answer_scenario
from kschedweb.engine.json_types import Json
from tests.engine.autoscaling.building import ZONE, machine, needs, pod, pool, scenario, sold, wanting

SMALL = sold("small", 2, 0.1, spot=0.03)


def test_the_command_line_answers_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = scenario([SMALL], [pool()], pod("p"))
    second = scenario([SMALL], [pool()], *machine("a", SMALL), disrupt=True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{json.dumps(first)}\n\n{json.dumps(second)}\n"))
    assert main(["autoscale", "--runs", "2"]) == 0
    first_answer, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert first_answer["provisioning"]["newNodeClaims"][0]["cheapestPrice"] == 0.03
    assert two["disruption"]["command"]["candidates"] == ["a"]


def test_the_clock_stands_in_where_a_scenario_has_no_time() -> None:
    raw = scenario([SMALL], [pool(disruption={"consolidateAfter": "1h"})], *machine("a", SMALL), *machine("b", SMALL))
    raw["objects"] += [pod("p", "a")]
    raw |= {"disrupt": True}
    del raw["now"]
    assert not answer_scenario(raw, lambda: 0.0, runs=1)["disruption"]["methods"][2].get("command", {}).get("moves")
    assert answer_scenario(raw, lambda: 4e9, runs=1)["disruption"]["methods"][2]["command"]["moves"]


def of_provider(status: str | None) -> Json:
    """A scenario with a NodePool of AWS, and its class with this status of the condition Ready."""
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    raw = pool()
    raw["spec"]["template"]["spec"]["nodeClassRef"] = reference
    conditions = [] if status is None else [{"type": "Ready", "status": status, "message": "AMIs are not found"}]
    node_class = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}}
    return scenario([SMALL], [raw], pod("p"), node_class | {"status": {"conditions": conditions}}, explain=True)


@pytest.mark.parametrize("status", [None, "True"])
def test_a_node_class_of_any_provider_counts_as_ready(status: str | None) -> None:
    answer = answer_scenario(of_provider(status), lambda: 0.0, runs=1)
    (claim,) = answer["provisioning"]["newNodeClaims"]
    assert claim["instanceTypes"] == ["small"]
    assert {"key": "karpenter.k8s.aws/ec2nodeclass", "operator": "In", "values": ["default"]} in claim["requirements"]


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_class_that_says_it_is_not_ready_brings_no_nodes(status: str) -> None:
    answer = answer_scenario(of_provider(status), lambda: 0.0, runs=1)
    assert answer["provisioning"]["newNodeClaims"] == []
    (nodepool,) = answer["explained"]["nodePools"]
    assert nodepool["why"] == "Its EC2NodeClass default is not ready: AMIs are not found"


def price(value: Any) -> Json:
    return {"name": "t", "capacity": {"cpu": "1"}, "offerings": [{"zone": "a", "capacityType": "spot", "price": value}]}


@pytest.mark.parametrize(
    ("raw", "expected_error"),
    [
        ({"name": 3}, "line 1: name: must be a string"),
        ({"now": "noon"}, "line 1: now: must be a time"),
        ({"disrupt": "yes"}, "line 1: disrupt: must be true or false"),
        ({"instanceTypes": [3]}, "line 1: instanceTypes[0]: must be an object"),
        ({"instanceTypes": [price(-0.1)]}, "line 1: instanceTypes[0] (t): offerings[0].price: must be a finite number"),
        ({"instanceTypes": [price("1")]}, "line 1: instanceTypes[0] (t): offerings[0].price: must be a number"),
        ({"instanceTypes": [price(None)]}, "line 1: instanceTypes[0] (t): offerings[0].price: is missing"),
        ({"instanceTypes": [{"name": "t"}]}, "line 1: instanceTypes[0] (t): offerings: is empty"),
        ({"instanceTypes": [SMALL, SMALL]}, "line 1: instanceTypes[1] (small): name: is there twice"),
        (
            {"instanceTypes": [{**SMALL, "nodePools": ["x"]}]},
            "line 1: instanceTypes[0] (small): nodePools: there is no",
        ),
        ({"nodePools": [pool()]}, "line 1: nodePools[0] (NodePool pool): no instance type is offered to it"),
        (
            {"nodePools": [{**pool(), "apiVersion": "karpenter.sh/v1beta1"}]},
            "line 1: nodePools[0] (NodePool pool): apiVersion: must be karpenter.sh/v1",
        ),
        (
            {"instanceTypes": [SMALL], "nodePools": [pool("p", needs("k", "Gt", "5"), needs("k", "Lt", "3"))]},
            "line 1: nodePools[0] (NodePool p): spec.template.spec.requirements[1]: ",
        ),
        ({"objects": [{}]}, "line 1: objects[0] (object (no name)): kind: is missing"),
        ({"objects": [{"kind": "Node"}]}, "line 1: objects[0] (Node (no name)): metadata.name: is missing"),
        (
            {"name": "s", "objects": [{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1beta1"}]},
            "line 1: s: objects[0] (NodeClaim (no name)): apiVersion: must be karpenter.sh/v1",
        ),
        ({"options": {"preferencePolicy": "No"}}, "line 1: options.preferencePolicy: must be one of Respect, Ignore"),
    ],
)
def test_bad_input_ends_with_one_line_that_says_where(
    raw: Json, expected_error: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(raw)))
    assert main(["autoscale"]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert expected_error in err


SPREAD = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
WHOLE = scenario(
    [SMALL, sold("large", 8, 0.4, overhead={"cpu": "100m"}, labels={"karpenter.kwok.sh/instance-cpu": "8"})],
    [pool("pool", needs(ZONE, "In", "a", "b", minValues=1), limits={"cpu": "100"}, weight=3)],
    *machine("a", SMALL),
    *machine("b", SMALL),
    pod("p", "a", affinity=wanting(needs(ZONE, "In", "a"), needs(ZONE, "Exists"))),
    pod("q", "b"),
    pod("r", topologySpreadConstraints=[{**SPREAD, "labelSelector": {"matchLabels": {"app": "web"}}}]),
    {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "g"},
        "spec": {"selector": {"matchLabels": {"app": "no"}}, "maxUnavailable": 1},
        "status": {"disruptionsAllowed": 1},
    },
    {
        "kind": "DaemonSet",
        "metadata": {"name": "d", "uid": "d"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "10m"}}}]}}},
    },
    disrupt=True,
    explain=True,
    options={"minValuesPolicy": "BestEffort"},
)
ANYTHING = st.sampled_from([None, 0, -1, 2**70, 1.5, True, "", "x", "1e5000000", "0" * 2000, [], [3], {}, {"x": 3}])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each part of ``value``."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def test_the_scenario_that_is_damaged_has_a_command_while_it_is_whole() -> None:
    answer = answer_scenario(WHOLE, lambda: 0.0, runs=1)
    assert answer["disruption"]["command"]["decision"] == "replace"
    [claim] = answer["provisioning"]["newNodeClaims"]
    assert claim["pods"] == ["default/r"], "zone a has two of its kind"


@given(st.sampled_from(list(places(WHOLE))), ANYTHING)
def test_a_damaged_scenario_is_answered_or_refused_in_words(path: tuple[Any, ...], value: Any) -> None:
    raw = copy.deepcopy(WHOLE)
    part: Any = raw
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with suppress(AutoscalingError):
        assert json.dumps(answer_scenario(raw, lambda: 0.0, runs=1))
