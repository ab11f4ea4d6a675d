"""A pod's tries, told again from what happened in its cluster."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.live.retrace import Retrace, RetracedTry
from kschedweb.engine.releases import load

BEGAN = 1_795_316_400.0


def node(name: str, cpu: str = "4", **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}


def pod(name: str, on: str = "", cpu: str = "3", scheduler: str = "default-scheduler") -> dict[str, Any]:
    containers = [{"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-11-22T03:00:00Z"},
        "spec": {"containers": containers, "schedulerName": scheduler} | ({"nodeName": on} if on else {}),
        "status": {"phase": "Running" if on else "Pending"},
    }


def retrace(**options: Any) -> Retrace:
    configuration = load(None).configuration
    assert configuration is not None
    return Retrace(configuration, "default/web", **options)


def told(found: Retrace) -> list[tuple[float, str, str]]:
    return [(one.at - BEGAN, one.node, one.cause) for one in found.tries]


def test_a_pod_is_tried_when_what_rejected_it_says_so_and_not_otherwise() -> None:
    found = retrace()
    found.start_at([node("full"), pod("db", "full")], BEGAN)
    found.apply_change("Pod", "default/web", None, pod("web"), BEGAN + 10)
    found.apply_change("Pod", "default/other", None, pod("other"), BEGAN + 11)  # waits too: it takes no room
    found.apply_change("Node", "tiny", None, node("tiny", "1"), BEGAN + 20)  # the hint: too small for it
    taint = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
    found.apply_change("Node", "kept", None, node("kept", taints=taint), BEGAN + 30)
    found.apply_change("Node", "kept", node("kept", taints=taint), node("kept"), BEGAN + 40)
    assert told(found) == [(10.0, "", "PodAdd"), (30.0, "", "NodeAdd"), (40.0, "kept", "NodeUpdate")]
    first, second, third = found.tries
    assert first.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert "1 node(s) had untolerated taint" in second.message
    woke = [(one.kind, one.key, one.event, one.plugins) for one in (*second.mattered, *third.mattered)]
    assert woke == [
        ("Node", "kept", "NodeAdd", ("NodeResourcesFit",)),
        ("Node", "kept", "NodeUpdate", ("TaintToleration",)),
    ]


def test_it_waits_for_its_backoff_and_hears_of_what_comes_meanwhile() -> None:
    found = retrace()
    found.start_at([node("full"), pod("db", "full"), pod("web")], BEGAN)
    found.apply_change("Node", "small", None, node("small", "2500m"), BEGAN + 0.1)
    found.apply_change("Node", "large", None, node("large", "8"), BEGAN + 0.2)
    found.apply_change("Node", "larger", None, node("larger", "16"), BEGAN + 0.3)
    found.pass_time(BEGAN + 60)
    assert found.tries[1].mattered[0].key == "large"
    assert found.tries[1].node in ("large", "larger")


def test_a_pod_that_no_node_could_be_asked_about_waits_for_anything() -> None:
    found = retrace()
    found.start_at([pod("web")], BEGAN)
    found.apply_change("Node", "one", None, node("one"), BEGAN + 20)
    found.pass_time(BEGAN + 60)
    assert found.tries[0].message.startswith("no nodes available")
    *before, last = found.tries
    assert {one.node for one in before} == {""}  # after each backoff
    assert (last.node, last.mattered[-1].key) == ("one", "one")


def test_what_nothing_wakes_is_tried_again_after_a_long_time() -> None:
    found = retrace()
    found.start_at([node("full"), pod("db", "full"), pod("web")], BEGAN)
    found.pass_time(BEGAN + 700)
    assert [one.cause for one in found.tries][1:] == ["UnschedulableTimeout"] * (len(found.tries) - 1)
    assert len(found.tries) >= 2


def test_a_bound_pod_is_not_tried_again_and_a_strange_scheduler_is_the_first_profile() -> None:
    found = retrace()
    found.start_at([node("one")], BEGAN)
    found.apply_change("Pod", "default/web", None, pod("web", scheduler="volcano"), BEGAN + 1)
    found.apply_change("Pod", "default/web", pod("web"), pod("web", "one", scheduler="volcano"), BEGAN + 2)
    found.apply_change("Node", "two", None, node("two"), BEGAN + 3)
    found.pass_time(BEGAN + 3600)
    assert told(found) == [(1.0, "one", "PodAdd")]


def test_between_given_tries_it_is_told_what_mattered() -> None:
    given = [
        RetracedTry(BEGAN + 1, "", "0/1 nodes are available: 1 Insufficient cpu.", ("NodeResourcesFit",), 1, 0, ""),
        RetracedTry(BEGAN + 9, "full", "", (), 1, 1, ""),
    ]
    found = retrace(recorded_tries=given)
    found.start_at([node("full"), pod("db", "full")], BEGAN)
    found.apply_change("Pod", "default/web", None, pod("web"), BEGAN + 0.5)
    found.apply_change("Pod", "default/db", pod("db", "full"), None, BEGAN + 5)
    found.apply_change("Pod", "default/web", pod("web"), pod("web", "full"), BEGAN + 10)
    assert told(found) == [(1.0, "", ""), (9.0, "full", "AssignedPodDelete")]
    assert [one.key for one in found.tries[1].mattered] == ["default/db"]
