from __future__ import annotations

import pytest

from kschedweb.engine.autoscaling.scenario import answer_scenario
from kschedweb.engine.json_types import Json
from tests.engine.autoscaling.building import ZONE, machine, needs, pod, pool, scenario, sold, wanting

SMALL, LARGE = sold("small", 2, 0.1), sold("large", 8, 0.4)


def launched(raw: Json) -> list[tuple[str, list[str], list[str]]]:
    """NodePool, pods and instance types of each new node."""
    provisioning = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]
    return [
        (node_claim["nodePool"], node_claim["pods"], node_claim["instanceTypes"])
        for node_claim in provisioning["newNodeClaims"]
    ]


def errors(raw: Json) -> dict[str, str]:
    pod_errors: dict[str, str] = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]["podErrors"]
    return pod_errors


def test_pods_are_packed_and_the_cheapest_type_comes_first() -> None:
    raw = scenario([LARGE, SMALL], [pool()], pod("p", cpu="1"), pod("q", cpu="1"))
    assert launched(raw) == [("pool", ["default/p", "default/q"], ["small", "large"])]
    raw["objects"].append(pod("r", cpu="1500m"))
    assert launched(raw) == [("pool", ["default/r", "default/p", "default/q"], ["large"])]


def test_the_heaviest_nodepool_is_asked_first_and_then_by_name_from_z_on() -> None:
    pools = [pool("a"), pool("b"), pool("c", weight=5)]
    assert [name for name, *_ in launched(scenario([SMALL], pools, pod("p")))] == ["c"]
    assert [name for name, *_ in launched(scenario([SMALL], pools[:2], pod("p")))] == ["b"]


def test_limits_count_the_largest_type_that_a_new_node_could_be() -> None:
    anti_affinity = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    pods = [pod(f"p{number}", affinity=anti_affinity) for number in range(3)]
    raw = scenario([LARGE, SMALL], [pool(limits={"cpu": "11"})], *pods)
    assert [types for _, _, types in launched(raw)] == [["small", "large"], ["small"]]
    assert errors(raw) == {"default/p2": "all available instance types exceed limits for nodepool (NodePool=pool)"}


def test_amounts_beyond_64_bits_of_milli_units_are_compared() -> None:
    """Of memory 8.2Pi, or of what a vendor counts in the quintillions, milli-units need more."""
    vast = sold("vast", 4, 0.1)
    vast["capacity"] |= {"memory": "9Ei", "vendor.example/tokens": "9E", "pods": "9" * 3000}
    wanting_all = pod("q", cpu="1")
    wanting_all["spec"]["containers"][0]["resources"]["requests"] |= {"memory": "4Ei", "vendor.example/tokens": "4E"}
    pods = [pod("p", cpu="1"), wanting_all]
    assert launched(scenario([vast, SMALL], [pool()], *pods)) == [("pool", ["default/q", "default/p"], ["vast"])]
    raw = scenario([SMALL], [pool()], *machine("a", vast), *pods)
    assert launched(raw) == []
    assert errors(raw) == {}
    assert not launched(scenario([vast], [pool(limits={"memory": "4Ei"})], *pods))


def test_a_limit_of_nodes_counts_those_that_are_there() -> None:
    raw = scenario(
        [SMALL], [pool(limits={"nodes": "1"})], *machine("a", SMALL), pod("p", cpu="1"), pod("q", cpu="1900m")
    )
    assert errors(raw) == {"default/p": "node limits have been exhausted for nodepool (NodePool=pool)"}
    del raw["objects"][:2]
    assert len(launched(raw)) == 2, "what is launched in the same round does not count, as in Karpenter"


def test_a_preference_is_given_up_where_it_cannot_be_met_unless_preferences_are_ignored() -> None:
    preferring = wanting(needs(ZONE, "In", "nowhere"), needs(ZONE, "In", "b"), preferred=True)
    raw = scenario([SMALL], [pool()], pod("p", affinity=preferring))
    [claim] = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]["newNodeClaims"]
    assert {"key": ZONE, "operator": "In", "values": ["b"]} in claim["requirements"]
    [claim] = answer_scenario(raw | {"options": {"preferencePolicy": "Ignore"}}, lambda: 0.0, runs=1)["provisioning"][
        "newNodeClaims"
    ]
    assert all(requirement["key"] != ZONE for requirement in claim["requirements"])


@pytest.mark.parametrize(("policy", "fewest"), [("Strict", None), ("BestEffort", 2)])
def test_too_few_values_are_an_error_or_lower_what_is_wanted(policy: str, fewest: int | None) -> None:
    flexible = needs("node.kubernetes.io/instance-type", "Exists", minValues=3)
    raw = scenario([LARGE, SMALL], [pool("p", flexible)], pod("p"), options={"minValuesPolicy": policy})
    provisioning = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]
    if fewest is None:
        assert provisioning["podErrors"] == {
            "default/p": "nodepool requirements filtered out all available instance types"
        }
    else:
        [claim] = provisioning["newNodeClaims"]
        [lowered] = [requirement for requirement in claim["requirements"] if "minValues" in requirement]
        assert lowered["minValues"] == fewest


def test_what_is_wanted_is_lowered_for_one_node_alone() -> None:
    flexible = needs("node.kubernetes.io/instance-type", "Exists", minValues=2)
    pods = [pod("huge", cpu="99"), pod("big", cpu="7"), pod("little", cpu="1900m")]
    raw = scenario([LARGE, SMALL], [pool("p", flexible)], *pods, options={"minValuesPolicy": "BestEffort"})
    provisioning = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]
    min_values = {
        node_claim["pods"][0]: [part["minValues"] for part in node_claim["requirements"] if "minValues" in part]
        for node_claim in provisioning["newNodeClaims"]
    }
    assert min_values == {"default/big": [1], "default/little": [2]}
    assert "minValues 2" in provisioning["podErrors"]["default/huge"]


def test_spread_pods_get_a_zone_each_and_chance_decides_which() -> None:
    spread = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    spread |= {"labelSelector": {"matchLabels": {"app": "web"}}}
    pods = [pod(f"p{number}", cpu="1", topologySpreadConstraints=[spread]) for number in range(2)]
    answer = answer_scenario(scenario([SMALL], [pool()], *pods), lambda: 0.0, runs=12)
    zones = [
        requirement["values"]
        for claim in answer["provisioning"]["newNodeClaims"]
        for requirement in claim["requirements"]
        if requirement["key"] == ZONE
    ]
    assert sorted(zones) == [["a"], ["b"]]
    assert answer["alternatives"], "the first pod could have been in the other zone"


def test_a_pod_waits_for_a_reservation_that_another_may_not_take() -> None:
    offering = {"zone": "a", "capacityType": "reserved", "price": 0.001, "reservationID": "r", "reservationCapacity": 1}
    reserved_type = sold("held", 2, 0.1, zones=("a",))
    reserved_type["offerings"].append(offering)
    raw = scenario([reserved_type], [pool()], pod("p", cpu="2"), pod("q", cpu="2"))
    provisioning = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]
    [claim] = provisioning["newNodeClaims"]
    assert {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]} in claim["requirements"]
    assert list(provisioning["podErrors"].values()) == [
        "one or more instance types with compatible reserved offerings are available, but could not be reserved"
    ]
    offering["reservationCapacity"] = 0
    assert len(launched(raw)) == 2, "a full one does not keep pods from on-demand nodes"


def test_daemons_are_counted_by_the_types_on_which_they_run() -> None:
    containers = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]
    affinity = wanting(needs("node.kubernetes.io/instance-type", "In", "small"))
    spec = {"containers": containers, "affinity": affinity}
    daemon = {"kind": "DaemonSet", "metadata": {"name": "d", "uid": "d"}, "spec": {"template": {"spec": spec}}}
    raw = scenario([LARGE, SMALL], [pool()], pod("p", cpu="1500m"), daemon)
    assert launched(raw) == [("pool", ["default/p"], ["large"])], "on a small one there is no room beside the daemon"


def test_a_volume_binds_its_pod_to_its_zone() -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [needs(ZONE, "In", "b")]}]}
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"nodeAffinity": {"required": terms}}}
    meta = {"name": "data", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": meta, "spec": {"volumeName": "v"}}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    raw = scenario([SMALL], [pool()], volume, claim, pod("p", volumes=volumes))
    [node_claim] = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]["newNodeClaims"]
    assert {"key": ZONE, "operator": "In", "values": ["b"]} in node_claim["requirements"]
    raw["objects"].remove(claim)
    assert answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]["notProvisionable"] == ["default/p"]


def test_the_file_of_kwok_s_provider_can_be_read() -> None:
    offer_requirements = [needs(ZONE, "In", "a"), needs("karpenter.sh/capacity-type", "In", "spot")]
    raw: Json = {"name": "c-4x-amd64-linux", "architecture": "amd64", "operatingSystems": ["linux"]}
    raw |= {
        "resources": {"cpu": "4", "memory": "8Gi"},
        "offerings": [{"Price": 0.1, "Available": True, "Requirements": offer_requirements}],
    }
    provisioning = answer_scenario(scenario([raw], [pool()], pod("p", cpu="3900m")), lambda: 0.0, runs=1)[
        "provisioning"
    ]
    [claim] = provisioning["newNodeClaims"]
    assert (claim["instanceTypes"], claim["cheapestPrice"]) == (["c-4x-amd64-linux"], 0.1)
    assert (
        "no instance type has enough resources" in errors(scenario([raw], [pool()], pod("p", cpu="3901m")))["default/p"]
    )


def test_nothing_is_placed_without_a_nodepool() -> None:
    provisioning = answer_scenario(scenario([SMALL], [], pod("p")), lambda: 0.0, runs=1)["provisioning"]
    assert provisioning == {"newNodeClaims": [], "existing": {}, "podErrors": {}, "notProvisionable": ["default/p"]}


def test_the_ready_catalogue_stands_in_for_instance_types() -> None:
    raw = scenario([], [pool()], pod("p", cpu="3")) | {"instanceTypes": "ready"}
    [claim] = answer_scenario(raw, lambda: 0.0, runs=1)["provisioning"]["newNodeClaims"]
    assert (claim["instanceTypes"][0], claim["cheapestPrice"]) == ("compute-4", 0.064)
    assert len(claim["instanceTypes"]) == 12


def test_what_a_new_node_could_be_and_why_a_nodepool_has_none_is_told() -> None:
    pools = [pool("a"), pool("b", needs("kubernetes.io/arch", "In", "arm64"), weight=9)]
    explanation = answer_scenario(scenario([SMALL, LARGE], pools, pod("p"), explain=True), lambda: 0.0, runs=1)[
        "explained"
    ]
    assert explanation["nodePools"] == [
        {"nodePool": "a", "weight": 0, "instanceTypes": ["small", "large"]},
        {
            "nodePool": "b",
            "weight": 9,
            "instanceTypes": [],
            "why": "NodePool requirements filtered out all compatible available instance types",
        },
    ]
    [node] = explanation["newNodes"]
    assert [(offer["instanceType"], offer["zone"], offer["price"]) for offer in node["offers"]] == [
        ("small", "a", 0.1),
        ("small", "b", 0.1),
        ("large", "a", 0.4),
        ("large", "b", 0.4),
    ]
