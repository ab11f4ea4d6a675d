from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.autoscaling.scenario import answer_scenario
from kschedweb.engine.json_types import Json
from tests.engine.autoscaling.building import machine, needs, pod, pool, scenario, sold, wanting

SMALL, LARGE = sold("small", 2, 0.1, spot=0.03), sold("large", 8, 0.4, spot=0.12)
DEMAND = needs("karpenter.sh/capacity-type", "In", "on-demand")


def look(raw: Json, **options: Any) -> Json:
    answer: Json = answer_scenario({**raw, "disrupt": True, "explain": True, "options": options}, lambda: 0.0, runs=1)
    return answer


def command(raw: Json, **options: Any) -> Any:
    """Type, decision, nodes and savings; None for no command."""
    command_json = look(raw, **options)["disruption"].get("command")
    return command_json and (
        command_json["type"],
        command_json["decision"],
        command_json["candidates"],
        command_json["savings"],
    )


def why(raw: Json, node: str, **options: Any) -> Json:
    return next(
        node_explanation
        for node_explanation in look(raw, **options)["explained"]["nodes"]
        if node_explanation["node"] == node
    )


def test_empty_nodes_go_within_the_budget_the_dearest_first() -> None:
    nodes = [*machine("a", SMALL), *machine("b", LARGE), *machine("c", SMALL)]
    assert command(scenario([SMALL, LARGE], [pool()], *nodes)) == (
        "Empty",
        "delete",
        ["a", "b", "c"],
        pytest.approx(0.6),
    )
    with_budget = scenario([SMALL, LARGE], [pool(disruption={"budgets": [{"nodes": "1"}]})], *nodes)
    assert command(with_budget) == ("Empty", "delete", ["b"], 0.4)
    none = scenario([SMALL, LARGE], [pool(disruption={"budgets": [{"nodes": "0"}]})], *nodes)
    assert command(none) is None
    explanation = why(none, "a")
    assert (explanation["verdict"], explanation["budget"]) == ("stays", {"reason": "Empty", "allowed": 0})
    assert explanation["why"] == "No allowed disruptions for disruption reason Empty due to blocking budget"


def test_a_node_whose_pods_fit_elsewhere_goes_and_the_plan_says_where_they_go() -> None:
    nodes = [*machine("a", SMALL), *machine("b", SMALL)]
    raw = scenario([SMALL], [pool("pool", DEMAND)], *nodes, pod("p", "a"), pod("q", "b"), pod("r", "b"))
    assert command(raw) == ("SingleNode", "delete", ["a"], 0.1)
    explanation = why(raw, "a")
    assert (explanation["verdict"], explanation["method"], explanation["why"]) == (
        "goes",
        "SingleNode",
        "Underutilized: delete",
    )
    assert explanation["alone"]["moves"] == {"b": ["default/p"]}
    assert (explanation["price"], explanation["alone"]["savings"], explanation["alone"]["newNodes"]) == (0.1, 0.1, 0)
    assert why(raw, "b")["verdict"] == "could go"


def test_a_dear_node_is_replaced_and_the_arithmetic_is_told() -> None:
    raw = scenario([SMALL, LARGE], [pool("pool", DEMAND)], *machine("a", LARGE), pod("p", "a", "1"))
    assert command(raw) == ("SingleNode", "replace", ["a"], pytest.approx(0.3))
    answer = look(raw)
    assert answer["disruption"]["reasons"] == {
        "a": ["ConsolidationCandidate: Consolidation candidate: replace: [a] -> [1 replacement] (savings: $0.30)"]
    }
    alone = why(raw, "a")["alone"]
    assert alone["considered"] == [{"instanceType": "small", "price": 0.1}, {"instanceType": "large", "price": 0.4}]
    assert alone["replacement"]["instanceTypes"] == ["small"]
    assert (alone["price"], alone["replacementPrice"]) == (0.4, 0.1)


def test_a_node_stays_where_nothing_is_cheaper() -> None:
    raw = scenario([SMALL, LARGE], [pool("pool", DEMAND)], *machine("a", SMALL), pod("p", "a", "1"))
    assert command(raw) is None
    explanation = why(raw, "a")
    assert (explanation["verdict"], explanation["why"]) == ("stays", "Can't replace with a cheaper node")
    assert explanation["alone"]["considered"][0] == {"instanceType": "small", "price": 0.1}


def test_a_spot_node_is_replaced_by_a_spot_node_only_with_many_types_to_choose_from() -> None:
    cheap = [sold(f"c{number}", 2, 0.1, spot=0.01 + number / 1000) for number in range(15)]
    raw = scenario([*cheap, LARGE], [pool()], *machine("a", LARGE, kind="spot"), pod("p", "a", "1"))
    assert why(raw, "a")["why"] == "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
    replacement = command(raw, spotToSpotConsolidation=True)
    assert replacement == ("SingleNode", "replace", ["a"], pytest.approx(0.11))
    assert len(why(raw, "a", spotToSpotConsolidation=True)["alone"]["replacement"]["instanceTypes"]) == 15
    raw["instanceTypes"] = [*cheap[:14], LARGE]
    assert (
        "requires 15 cheaper instance type options than the current candidate to consolidate, got 14"
        in (why(raw, "a", spotToSpotConsolidation=True)["why"])
    )


def test_several_nodes_are_not_replaced_by_one_of_their_own() -> None:
    nodes = [*machine("a", LARGE), *machine("b", LARGE)]
    pods = [pod("p", "a", "3500m"), pod("q", "b", "3500m")]
    raw = scenario([LARGE], [pool("pool", DEMAND)], *nodes, *pods)
    assert command(raw) == ("SingleNode", "delete", ["a"], 0.4)
    method = look(raw)["disruption"]["methods"][1]
    assert (method["type"], method["candidates"], method.get("command")) == ("MultiNode", ["a", "b"], None)


def test_balanced_pools_refuse_what_disturbs_more_than_it_saves() -> None:
    nodes = [*machine("a", SMALL), *machine("b", LARGE)]
    pods = [pod(f"p{number}", "a", "50m") for number in range(9)]
    balanced = pool("pool", DEMAND, disruption={"consolidationPolicy": "Balanced"})
    raw = scenario([SMALL, LARGE], [balanced], *nodes, *pods, pod("q", "b", "6"))
    assert command(raw) is None
    explanation = why(raw, "a")
    assert not explanation["score"]["approved"]
    assert explanation["why"].startswith(
        "The policy Balanced rejects it: score 0.24 < threshold 0.50 (k: 2, savings 20.0%"
    )
    raw["nodePools"] = [pool("pool", DEMAND)]
    assert command(raw) == ("SingleNode", "delete", ["a"], 0.1)


@pytest.mark.parametrize(
    ("change", "expected_reason"),
    [
        ({"karpenter.sh/do-not-disrupt": "true"}, 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/p)'),
        ({"karpenter.sh/do-not-disrupt": "2h"}, 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/p)'),
        ({"karpenter.sh/do-not-disrupt": "30m"}, ""),
        ({"karpenter.sh/do-not-disrupt": "-1h"}, ""),
    ],
)
def test_a_pod_keeps_its_node_for_ever_or_for_a_time(change: Json, expected_reason: str) -> None:
    nodes = [*machine("a", SMALL), *machine("b", SMALL)]
    protected_pod = pod("p", "a")
    protected_pod["metadata"]["annotations"] = change
    explanation = why(scenario([SMALL], [pool("pool", DEMAND)], *nodes, protected_pod, pod("q", "b")), "a")
    assert (explanation["why"] == expected_reason) if expected_reason else (explanation["verdict"] != "stays")


@pytest.mark.parametrize(
    ("status", "spec", "expected_reason"),
    [
        ({"disruptionsAllowed": 0}, {}, "Pdb prevents pod evictions (PodDisruptionBudget=[default/b])"),
        ({"disruptionsAllowed": 1}, {}, ""),
        ({"disruptionsAllowed": 0}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, ""),
    ],
)
def test_a_budget_keeps_the_node_of_its_pods(status: Json, spec: Json, expected_reason: str) -> None:
    nodes = [*machine("a", SMALL), *machine("b", SMALL)]
    unready_pod = pod("p", "a")
    unready_pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    guard = {"kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"}, "status": status}
    guard["spec"] = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    other = pod("q", "b", labels={"app": "other"})
    explanation = why(scenario([SMALL], [pool("pool", DEMAND)], *nodes, unready_pod, other, guard), "a")
    assert (explanation["why"] == expected_reason) if expected_reason else (explanation["verdict"] != "stays")


def test_every_other_state_of_a_machine_is_told_in_karpenter_s_words() -> None:
    begun, fenced, young = machine("a", SMALL), machine("b", SMALL), machine("c", SMALL)
    del begun[0]["metadata"]["labels"]["karpenter.sh/initialized"]
    fenced[0]["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    young[1]["status"]["conditions"].pop()
    foreign = machine("d", SMALL)[0]
    lost = machine("e", SMALL, pool="gone")
    unknown = machine("f", sold("other", 2, 1))
    busy = [pod("p", "f")]
    raw = scenario([SMALL], [pool()], *begun, *fenced, *young, foreign, *lost, *unknown, *busy)
    reasons = {explanation["node"]: explanation["why"] for explanation in look(raw)["explained"]["nodes"]}
    assert reasons == {
        "a": "Node isn't initialized",
        "b": 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
        "c": "The NodeClaim does not have the condition Consolidatable",
        "d": "Node isn't managed by karpenter",
        "e": "NodePool not found (NodePool=gone)",
        "f": 'Instance Type "other" not found',
    }


def test_pods_do_not_go_to_nodes_that_are_still_settling() -> None:
    nodes = [*machine("a", SMALL), *machine("b", SMALL)]
    nodes[3]["status"]["lastPodEventTime"] = "2026-01-15T11:59:00Z"
    raw = scenario([SMALL], [pool("pool", DEMAND, disruption={"consolidateAfter": "5m"})], *nodes, pod("p", "a"))
    assert why(raw, "a")["alone"]["moves"] == {}
    raw["nodePools"] = [pool("pool", DEMAND, disruption={"consolidateAfter": "30s"})]
    assert why(raw, "a")["alone"]["moves"] == {"b": ["default/p"]}


def test_a_type_without_spot_does_not_take_the_place_of_several_nodes_as_one_that_is_spot() -> None:
    """The hunt has found it: of a node that is pinned to spot only types are left that can be spot."""
    cheap = sold("cheap", 2, 0.05)
    nodes = [*machine("a", LARGE), *machine("b", LARGE)]
    raw = scenario([cheap, SMALL, LARGE], [pool()], *nodes, pod("p", "a"), pod("q", "b"))
    terms = [needs("node.kubernetes.io/instance-type", "In", "cheap", "small")]
    for raw_pod in raw["objects"][-2:]:
        raw_pod["spec"]["affinity"] = wanting(*terms)
    several = look(raw)["disruption"]["methods"][1]["command"]
    assert (several["type"], several["decision"]) == ("MultiNode", "replace")
    assert several["replacements"][0]["instanceTypes"] == ["small"]
