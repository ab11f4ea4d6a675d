from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import explain_pod, verdicts


def test_whoever_asks_for_anything_is_kept_off_an_overcommitted_node() -> None:
    full = [node("a"), pod("b", on="a", requests={"cpu": "5"})]
    assert verdicts("PodFitsResources", pod("p"), *full) == {}
    assert verdicts("PodFitsResources", pod("p", requests={"memory": "1"}), *full) == {"a": ["Insufficient cpu"]}
    gpu = pod("p", requests={"example.com/gpu": "0"})
    assert verdicts("PodFitsResources", gpu, *full) == {"a": ["Insufficient cpu"]}


def test_init_containers_count_for_the_pod_that_comes_but_not_once_it_runs() -> None:
    inits = [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "3"}}}]
    running = pod("b", on="a", requests={"cpu": "1"}, initContainers=inits)
    assert verdicts("PodFitsResources", pod("p", requests={"cpu": "3"}), node("a"), running) == {}
    coming = pod("p", requests={"cpu": "1"}, initContainers=inits)
    more = pod("c", on="a", requests={"cpu": "1"})
    assert verdicts("PodFitsResources", coming, node("a"), running, more) == {"a": ["Insufficient cpu"]}


def test_what_came_later_does_not_count() -> None:
    later: dict[str, Any] = {
        "overhead": {"cpu": "4"},
        "resources": {"requests": {"cpu": "4"}},
        "initContainers": [
            {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}
        ],
    }
    assert verdicts("PodFitsResources", pod("p", requests={"cpu": "2"}, **later), node("a")) == {}
    bound_pod = pod("b", on="a", requests={"cpu": "2"}, **later)
    assert verdicts("PodFitsResources", pod("p", requests={"cpu": "2"}), node("a"), bound_pod) == {}


def test_resources_that_an_extender_manages_alone_are_not_looked_at() -> None:
    extender = {"urlPrefix": "http://e", "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]}
    wanting = pod("p", requests={"example.com/gpu": "1"})
    policy = {"predicates": [{"name": "PodFitsResources"}], "priorities": []}
    assert explain_pod(wanting, node("a"), policy=policy)["feasible"] is None
    assert explain_pod(wanting, node("a"), policy={**policy, "extenders": [extender]})["feasible"] == ["a"]


def test_general_predicates_tell_all_reasons_in_their_order() -> None:
    bound_pod = pod("b", on="a", container={"ports": [{"containerPort": 1, "hostPort": 80}]})
    wanting = pod(
        "p",
        on="other",
        requests={"cpu": "9", "ephemeral-storage": "1Gi"},
        nodeSelector={"disk": "ssd"},
        container={"ports": [{"containerPort": 1, "hostPort": 80}]},
    )
    wanting["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9", "ephemeral-storage": "1Gi"}}
    reasons_by_node = verdicts("GeneralPredicates", wanting, node("a", allocatable={"pods": "1"}), bound_pod)
    assert reasons_by_node == {
        "a": [
            "Insufficient pods",
            "Insufficient cpu",
            "Insufficient ephemeral-storage",
            "node(s) didn't match the requested hostname",
            "node(s) didn't have free ports for the requested pod ports",
            "node(s) didn't match node selector",
        ]
    }


def test_a_port_on_all_addresses_conflicts_with_one_on_any() -> None:
    def using(name: str, ip: str, on: str = "") -> dict:
        port = {"containerPort": 1, "hostPort": 80, **({"hostIP": ip} if ip else {})}
        return pod(name, on=on, container={"ports": [port]})

    bound_pod = using("b", "10.0.0.1", on="a")
    assert verdicts("PodFitsHostPorts", using("p", "10.0.0.2"), node("a"), bound_pod) == {}
    for ip in ("", "10.0.0.1", "0.0.0.0"):
        assert list(verdicts("PodFitsHostPorts", using("p", ip), node("a"), bound_pod)) == ["a"]


def test_a_disk_that_one_pod_writes_to_is_taken() -> None:
    def mounting(name: str, read_only: bool, on: str = "") -> dict:
        return pod(name, on=on, volumes=[{"name": "v", "gcePersistentDisk": {"pdName": "d", "readOnly": read_only}}])

    for mine, theirs in ((False, False), (True, False), (False, True), (True, True)):
        reasons_by_node = verdicts("NoDiskConflict", mounting("p", mine), node("a"), mounting("b", theirs, on="a"))
        assert reasons_by_node == ({} if mine and theirs else {"a": ["node(s) had no available disk"]})


@given(st.lists(st.integers(0, 5000), max_size=4), st.integers(1, 5000), st.integers(0, 8000))
def test_a_pod_fits_where_the_sum_of_all_is_what_there_is_at_most(
    requests_of_bound: list[int], requested: int, allocatable: int
) -> None:
    bound = [pod(f"b{number}", on="a", requests={"cpu": f"{milli}m"}) for number, milli in enumerate(requests_of_bound)]
    reasons_by_node = verdicts(
        "PodFitsResources",
        pod("p", requests={"cpu": f"{requested}m"}),
        node("a", allocatable={"cpu": f"{allocatable}m"}),
        *bound,
    )
    assert bool(reasons_by_node) == (sum(requests_of_bound) + requested > allocatable)
