from __future__ import annotations

import pytest

from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import NO_EXECUTE, TAINT_NODES_BY_CONDITION
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import explain_pod, verdicts


def with_conditions(name: str, **statuses: str) -> dict:
    raw_node = node(name)
    raw_node["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in statuses.items()]
    return raw_node


def test_every_trouble_of_a_node_is_told() -> None:
    cordoned = with_conditions("a", Ready="Unknown", OutOfDisk="True", NetworkUnavailable="Unknown")
    cordoned["spec"]["unschedulable"] = True
    reasons_by_node = verdicts("CheckNodeCondition", pod("p"), cordoned, with_conditions("b", Ready="True"), node("c"))
    assert reasons_by_node == {
        "a": [
            "node(s) were not ready",
            "node(s) were out of disk space",
            "node(s) had unavailable network",
            "node(s) were unschedulable",
        ]
    }


def test_memory_pressure_concerns_pods_that_ask_for_nothing() -> None:
    short = with_conditions("a", MemoryPressure="True")
    assert verdicts("CheckNodeMemoryPressure", pod("p"), short) == {"a": ["node(s) had memory pressure"]}
    limited = pod("p", container={"resources": {"limits": {"memory": "1Mi"}}})
    gpu_alone = pod("p", requests={"example.com/gpu": "0", "cpu": "0"})
    assert verdicts("CheckNodeMemoryPressure", limited, short) == {}
    assert verdicts("CheckNodeMemoryPressure", gpu_alone, short) == {"a": ["node(s) had memory pressure"]}


@pytest.mark.parametrize(
    ("predicate", "condition", "reason"),
    [
        ("CheckNodeDiskPressure", "DiskPressure", "node(s) had disk pressure"),
        ("CheckNodePIDPressure", "PIDPressure", "node(s) had pid pressure"),
    ],
)
def test_the_last_condition_of_a_kind_counts(predicate: str, condition: str, reason: str) -> None:
    relieved, pressed = node("a"), node("b")
    relieved["status"]["conditions"] = [{"type": condition, "status": status} for status in ("True", "False")]
    pressed["status"]["conditions"] = [{"type": condition, "status": status} for status in ("Unknown", "True")]
    assert verdicts(predicate, pod("p"), relieved, pressed) == {"b": [reason]}


def test_a_pod_that_names_a_node_goes_to_no_other() -> None:
    reasons_by_node = verdicts("HostName", pod("p", on="b"), node("a"), node("b"))
    assert reasons_by_node == {"a": ["node(s) didn't match the requested hostname"]}


def test_labels_are_asked_to_be_there_or_not_to_be() -> None:
    nodes = [node("a", labels={"disk": "ssd"}), node("b")]
    for presence, rejected in ((True, "b"), (False, "a")):
        argument = {"labelsPresence": {"labels": ["disk"], "presence": presence}}
        reasons_by_node = verdicts("CheckNodeLabelPresence", pod("p"), *nodes, argument=argument)
        assert reasons_by_node == {rejected: ["node(s) didn't have the requested labels"]}


def test_taints_that_evict_can_be_looked_at_alone() -> None:
    taints = [{"key": "k", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    nodes = [node("a", taints=taints[:1]), node("b", taints=taints[1:])]
    reason = ["node(s) had taints that the pod didn't tolerate"]
    assert verdicts("PodToleratesNodeTaints", pod("p"), *nodes) == {"a": reason, "b": reason}
    assert verdicts(NO_EXECUTE, pod("p"), *nodes, edition=Edition(gates=frozenset({NO_EXECUTE}))) == {"b": reason}


def test_where_conditions_become_taints_a_cordoned_node_is_told_by_a_toleration() -> None:
    cordoned = node("a", unschedulable=True)
    edition = Edition(gates=frozenset({TAINT_NODES_BY_CONDITION}))
    tolerating = pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert explain_pod(pod("p"), cordoned, edition=edition)["predicates"] == {
        "CheckNodeUnschedulable": {"a": ["node(s) were unschedulable"]}
    }
    assert explain_pod(tolerating, cordoned, edition=edition)["feasible"] == ["a"]
    assert explain_pod(tolerating, cordoned)["feasible"] is None
