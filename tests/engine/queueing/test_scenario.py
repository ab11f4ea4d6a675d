"""Scenarios that are read in whole: a queue that is full, one that preempts, and what cannot be read."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.scenario import QueueingError, answer_scenario

KUEUE = "kueue.x-k8s.io/v1beta2"


def make_scenario(*workloads: Json, preemption: Json | None = None, **options: object) -> Json:
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    spec = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
        "preemption": preemption or {},
    }
    objects: list[Json] = [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "ns"},
            "spec": {"clusterQueue": "q"},
        },
    ]
    return {"name": "s", "objects": [*objects, *workloads], "cycles": 4, "options": options}


def make_workload(name: str, cpu: str, *, priority: int = 0, minute: int = 0) -> Json:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": f"2026-01-15T11:{minute:02}:00Z"},
        "spec": {"queueName": "lq", "priority": priority, "podSets": [{"template": template}]},
    }


def test_the_older_workload_gets_the_quota_and_the_other_one_is_told_what_is_missing() -> None:
    answer = answer_scenario(make_scenario(make_workload("a", "3", minute=1), make_workload("b", "3", minute=2)))
    states = {name: workload["state"] for name, workload in answer["workloads"].items()}
    assert states == {"ns/a": "admitted", "ns/b": "pending"}
    (condition,) = answer["workloads"]["ns/b"]["conditions"]
    assert condition["message"].endswith("insufficient unused quota for cpu in flavor f, 2 more needed")


def test_the_finer_reasons_stand_beside_the_plain_ones() -> None:
    workloads = (make_workload("a", "3", minute=1), make_workload("b", "3", minute=2), make_workload("c", "9"))
    plain = answer_scenario(make_scenario(*workloads))["workloads"]
    fine = answer_scenario(make_scenario(*workloads, gates="UnadmittedWorkloadsObservability=true"))["workloads"]
    reasons = [
        {item["type"]: item["reason"] for item in answer[name]["conditions"]}["QuotaReserved"]
        for answer in (plain, fine)
        for name in ("ns/b", "ns/c")
    ]
    assert reasons == ["Pending", "Pending", "WaitingForQuota", "ExceedsMaxQuota"]


def test_a_more_important_workload_takes_the_place_of_another_one() -> None:
    scenario = make_scenario(make_workload("a", "3"), preemption={"withinClusterQueue": "LowerPriority"})
    scenario["events"] = [{"before": 2, "apply": make_workload("b", "3", priority=5)}]
    answer = answer_scenario(scenario)
    assert answer["cycles"][1]["preempted"][0]["reason"] == "InClusterQueue"
    states = {name: workload["state"] for name, workload in answer["workloads"].items()}
    assert states == {"ns/a": "pending", "ns/b": "admitted"}


def test_a_workload_that_is_deleted_while_it_is_evicted_keeps_the_play_going() -> None:
    """As Kueue's harness, which waits for the end of its eviction all the same."""
    scenario = make_scenario(
        make_workload("low", "3", minute=1), preemption={"withinClusterQueue": "LowerPriority"}, evictionCycles=2
    )
    high = make_workload("high", "4", priority=10, minute=2)
    events = [{"before": 2, "apply": high}, {"before": 3, "delete": "ns/low"}]
    answer = answer_scenario({**scenario, "cycles": 6, "events": events})
    assert [cycle.get("idle", False) for cycle in answer["cycles"]] == [False, False, False, True]
    assert "repeats" not in answer


def test_gates_that_are_not_known_are_an_error_of_the_answer() -> None:
    answer = answer_scenario(make_scenario(gates="Nonsense=true"))
    assert answer == {"name": "s", "error": "unrecognized feature gate: Nonsense"}


def test_an_object_that_cannot_be_read_is_named() -> None:
    scenario = make_scenario(make_workload("a", "many"))
    with pytest.raises(QueueingError, match="many"):
        answer_scenario(scenario)


def test_the_overhead_of_a_runtime_class_counts_for_quota() -> None:
    workload = make_workload("a", "3")
    workload["spec"]["podSets"][0]["template"]["spec"]["runtimeClassName"] = "kata"
    scenario = make_scenario(workload)
    overhead = {"podFixed": {"cpu": "2"}}
    scenario["objects"].append({"kind": "RuntimeClass", "metadata": {"name": "kata"}, "overhead": overhead})
    (condition,) = answer_scenario(scenario)["workloads"]["ns/a"]["conditions"]
    assert condition["message"].endswith("current podset request (5) > maximum capacity (4)")
