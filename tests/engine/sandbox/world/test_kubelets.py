"""Pods on their nodes, and nodes whose kubelet falls silent."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.world.pods import get_condition
from kschedweb.engine.sandbox.world.resources import DAEMON_SET, DEPLOYMENT
from tests.engine.sandbox.living import Living, phases, pod, workload


def with_node(*names: str) -> Living:
    living = Living()
    for name in names or ("one",):
        living.node(name)
    living.live(1.0)
    return living


def taints(living: Living, name: str) -> set[tuple[str, str]]:
    return {
        (taint["key"].rpartition("/")[2], taint["effect"])
        for taint in living.get(NODE, name)["spec"].get("taints") or ()
    }


def annotated(seconds: str, name: str = "runs-for") -> Json:
    return {f"sandbox.kschedweb.dev/{name}": seconds}


def test_a_new_node_becomes_ready() -> None:
    living = with_node()
    node = living.get(NODE, "one")
    assert (get_condition(node, "Ready") or {})["status"] == "True"
    assert taints(living, "one") == set()
    assert node["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.")
    assert living.reasons(NODE, "one") == ["NodeReady"]


def test_a_pod_runs_a_second_or_two_after_it_was_bound() -> None:
    living = with_node()
    living.create(POD, pod("a"))
    living.live(0.9)
    assert phases(living) == {"a": "Pending"}
    assert living.get(POD, "a")["spec"]["nodeName"] == "one"
    living.live(1.2)
    status = living.get(POD, "a")["status"]
    assert status["phase"] == "Running"
    kinds = {condition["type"] for condition in status["conditions"] if condition["status"] == "True"}
    assert kinds == {"PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"}
    assert status["podIP"]
    assert status["hostIP"]
    assert status["startTime"]
    assert status["containerStatuses"][0]["state"]["running"]
    assert living.reasons(POD, "a") == ["Scheduled", "Started"]


def test_a_pod_ends_after_the_time_that_it_says_also_where_nobody_was_there_to_see_it() -> None:
    living = with_node()
    raw = pod("a", restartPolicy="Never")
    raw["metadata"]["annotations"] = annotated("2m")
    living.create(POD, raw)
    living.live(60.0)
    living.restart()
    living.live(50.0)
    assert phases(living) == {"a": "Running"}
    living.live(25.0)
    status = living.get(POD, "a")["status"]
    assert status["phase"] == "Succeeded"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert not any(condition["status"] == "True" for condition in status["conditions"] if condition["type"] == "Ready")


def test_a_duration_that_is_none_is_told_in_an_event() -> None:
    living = with_node()
    raw = pod("a")
    raw["metadata"]["annotations"] = annotated("soon")
    living.create(POD, raw)
    living.live(10.0)
    assert phases(living) == {"a": "Running"}
    assert "InvalidDuration" in living.reasons(POD, "a")


def test_a_deleted_pod_goes_within_two_seconds() -> None:
    living = with_node()
    living.create(POD, pod("a"))
    living.live(3.0)
    living.delete(POD, "a")
    living.live(0.5)
    assert phases(living) == {"a": "Running"}
    living.restart()
    living.live(2.1)
    assert phases(living) == {}
    assert "Killing" in living.reasons(POD, "a")


def silenced(minutes: int) -> Living:
    """Two nodes, one of which falls silent for so long with a pod of each kind on it."""
    living = with_node("one", "two")
    living.create(DAEMON_SET, workload("daemon", None))
    living.create(DEPLOYMENT, workload("web", 4))
    living.live(5.0)
    living.merge(NODE, "one", {"metadata": {"annotations": annotated(f"{minutes}m", "silent-for")}})
    return living


def test_a_silent_node_is_not_ready_after_its_grace_and_is_tainted() -> None:
    living = silenced(20)
    living.live(45.0)
    assert taints(living, "one") == set()
    living.live(15.0)
    assert (get_condition(living.get(NODE, "one"), "Ready") or {})["status"] == "Unknown"
    assert taints(living, "one") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    assert "NodeNotReady" in living.reasons(NODE, "one")
    pods_on_node = [raw for raw in living.all(POD) if raw["spec"]["nodeName"] == "one"]
    assert len(pods_on_node) == 3
    assert all((get_condition(raw, "Ready") or {})["status"] == "False" for raw in pods_on_node)


def test_its_pods_must_leave_after_five_minutes_but_cannot_while_it_is_silent() -> None:
    living = silenced(20)
    living.live(200.0)
    living.restart()
    living.live(120.0)
    assert not any("deletionTimestamp" in raw["metadata"] for raw in living.all(POD))
    living.live(60.0)
    leaving = [raw for raw in living.all(POD) if "deletionTimestamp" in raw["metadata"]]
    assert [raw["metadata"]["labels"]["app"] for raw in leaving] == ["web", "web"]
    assert all(raw["spec"]["nodeName"] == "one" for raw in leaving)
    pods_on_node = [
        raw for raw in living.all(POD) if raw["spec"]["nodeName"] == "two" and raw["metadata"]["labels"]["app"] == "web"
    ]
    assert len(pods_on_node) == 4
    living.live(600.0)
    assert len([raw for raw in living.all(POD) if "deletionTimestamp" in raw["metadata"]]) == 2
    living.live(300.0)
    assert not any("deletionTimestamp" in raw["metadata"] for raw in living.all(POD))


def test_a_node_that_returns_is_ready_again_with_its_pods() -> None:
    living = silenced(3)
    living.live(120.0)
    names = {raw["metadata"]["uid"] for raw in living.all(POD)}
    living.restart()
    living.live(80.0)
    assert (get_condition(living.get(NODE, "one"), "Ready") or {})["status"] == "True"
    assert taints(living, "one") == set()
    assert {raw["metadata"]["uid"] for raw in living.all(POD)} == names
    assert all((get_condition(raw, "Ready") or {})["status"] == "True" for raw in living.all(POD))


def test_pods_of_a_node_that_is_gone_are_collected() -> None:
    living = with_node("one", "two")
    living.create(DEPLOYMENT, workload("web", 2))
    living.live(5.0)
    living.delete(NODE, "one")
    living.live(30.0)
    assert len(living.all(POD)) == 2
    living.live(20.0)
    assert [raw["spec"]["nodeName"] for raw in living.all(POD)] == ["two", "two"]


def test_a_pod_that_names_a_node_without_room_fails_as_its_kubelet_says() -> None:
    living = with_node()
    big = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1000"}}}
    living.create(POD, pod("a", nodeName="one", containers=[big]))
    living.create(POD, pod("b", nodeName="one"))
    living.live(3.0)
    assert phases(living) == {"a": "Failed", "b": "Running"}
    status = living.get(POD, "a")["status"]
    assert status["reason"] == "OutOfcpu"
    assert status["message"].startswith("Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000,")
    assert living.reasons(POD, "a") == ["OutOfcpu"]
