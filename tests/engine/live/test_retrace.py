"""A pod's tries, told again from what happened in its cluster."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.live.retrace import Retrace, RetracedTry
from kschedweb.engine.releases import load

START = 1_795_316_400.0


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


def list_tries(pod_retrace: Retrace) -> list[tuple[float, str, str]]:
    return [(attempt.at - START, attempt.node, attempt.cause) for attempt in pod_retrace.tries]


def test_a_pod_is_tried_when_what_rejected_it_says_so_and_not_otherwise() -> None:
    pod_retrace = retrace()
    pod_retrace.start_at([node("full"), pod("db", "full")], START)
    pod_retrace.apply_change("Pod", "default/web", None, pod("web"), START + 10)
    pod_retrace.apply_change("Pod", "default/other", None, pod("other"), START + 11)  # waits too: it takes no room
    pod_retrace.apply_change("Node", "tiny", None, node("tiny", "1"), START + 20)  # the hint: too small for it
    taint = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
    pod_retrace.apply_change("Node", "kept", None, node("kept", taints=taint), START + 30)
    pod_retrace.apply_change("Node", "kept", node("kept", taints=taint), node("kept"), START + 40)
    assert list_tries(pod_retrace) == [(10.0, "", "PodAdd"), (30.0, "", "NodeAdd"), (40.0, "kept", "NodeUpdate")]
    first, second, third = pod_retrace.tries
    assert first.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert "1 node(s) had untolerated taint" in second.message
    woke = [(change.kind, change.key, change.event, change.plugins) for change in (*second.mattered, *third.mattered)]
    assert woke == [
        ("Node", "kept", "NodeAdd", ("NodeResourcesFit",)),
        ("Node", "kept", "NodeUpdate", ("TaintToleration",)),
    ]


def test_it_waits_for_its_backoff_and_hears_of_what_comes_meanwhile() -> None:
    pod_retrace = retrace()
    pod_retrace.start_at([node("full"), pod("db", "full"), pod("web")], START)
    pod_retrace.apply_change("Node", "small", None, node("small", "2500m"), START + 0.1)
    pod_retrace.apply_change("Node", "large", None, node("large", "8"), START + 0.2)
    pod_retrace.apply_change("Node", "larger", None, node("larger", "16"), START + 0.3)
    pod_retrace.pass_time(START + 60)
    assert pod_retrace.tries[1].mattered[0].key == "large"
    assert pod_retrace.tries[1].node in ("large", "larger")


def test_a_pod_that_no_node_could_be_asked_about_waits_for_anything() -> None:
    pod_retrace = retrace()
    pod_retrace.start_at([pod("web")], START)
    pod_retrace.apply_change("Node", "one", None, node("one"), START + 20)
    pod_retrace.pass_time(START + 60)
    assert pod_retrace.tries[0].message.startswith("no nodes available")
    *before, last = pod_retrace.tries
    assert {attempt.node for attempt in before} == {""}  # after each backoff
    assert (last.node, last.mattered[-1].key) == ("one", "one")


def test_what_nothing_wakes_is_tried_again_after_a_long_time() -> None:
    pod_retrace = retrace()
    pod_retrace.start_at([node("full"), pod("db", "full"), pod("web")], START)
    pod_retrace.pass_time(START + 700)
    assert [attempt.cause for attempt in pod_retrace.tries][1:] == ["UnschedulableTimeout"] * (
        len(pod_retrace.tries) - 1
    )
    assert len(pod_retrace.tries) >= 2


def test_a_bound_pod_is_not_tried_again_and_a_strange_scheduler_is_the_first_profile() -> None:
    pod_retrace = retrace()
    pod_retrace.start_at([node("one")], START)
    pod_retrace.apply_change("Pod", "default/web", None, pod("web", scheduler="volcano"), START + 1)
    pod_retrace.apply_change("Pod", "default/web", pod("web"), pod("web", "one", scheduler="volcano"), START + 2)
    pod_retrace.apply_change("Node", "two", None, node("two"), START + 3)
    pod_retrace.pass_time(START + 3600)
    assert list_tries(pod_retrace) == [(1.0, "one", "PodAdd")]


def test_between_given_tries_it_is_told_what_mattered() -> None:
    recorded_tries = [
        RetracedTry(START + 1, "", "0/1 nodes are available: 1 Insufficient cpu.", ("NodeResourcesFit",), 1, 0, ""),
        RetracedTry(START + 9, "full", "", (), 1, 1, ""),
    ]
    pod_retrace = retrace(recorded_tries=recorded_tries)
    pod_retrace.start_at([node("full"), pod("db", "full")], START)
    pod_retrace.apply_change("Pod", "default/web", None, pod("web"), START + 0.5)
    pod_retrace.apply_change("Pod", "default/db", pod("db", "full"), None, START + 5)
    pod_retrace.apply_change("Pod", "default/web", pod("web"), pod("web", "full"), START + 10)
    assert list_tries(pod_retrace) == [(1.0, "", ""), (9.0, "full", "AssignedPodDelete")]
    assert [change.key for change in pod_retrace.tries[1].mattered] == ["default/db"]
