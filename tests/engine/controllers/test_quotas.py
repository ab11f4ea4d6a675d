"""Quotas: the pods that they admit, and their counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.controllers.admission import AdmissionError
from kschedweb.engine.controllers.quotas import Quotas, compute_pod_usage
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import pod


def quotas(**specs: dict[str, Any]) -> Quotas:
    cluster = ClusterObjects()
    for name, spec in specs.items():
        cluster.add({"kind": "ResourceQuota", "metadata": {"name": name, "namespace": "default"}, "spec": spec})
    return Quotas(cluster)


def refusal(all_quotas: Quotas, raw: dict) -> str:
    with pytest.raises(AdmissionError) as problem:
        all_quotas.check_pod(Pod.from_json(raw))
    return str(problem.value)


def test_the_words_are_the_api_servers() -> None:
    team_quota = quotas(team={"hard": {"requests.cpu": "2", "pods": "9", "requests.memory": "4Gi"}})
    team_quota.charge_pod(Pod.from_json(pod("a", requests={"cpu": "1500m", "memory": "1024Mi"})))
    assert refusal(team_quota, pod("b", requests={"cpu": "1", "memory": "1Gi"})) == (
        "exceeded quota: team, requested: requests.cpu=1, used: requests.cpu=1500m, limited: requests.cpu=2"
    )
    assert refusal(team_quota, pod("c", requests={"cpu": "100m"})) == (
        "failed quota: team: must specify requests.memory for: main"
    )


def test_what_is_gone_is_free_again() -> None:
    pod_quota = quotas(one={"hard": {"pods": "1"}})
    pod_quota.charge_pod(Pod.from_json(pod("a")))
    assert "exceeded quota: one" in refusal(pod_quota, pod("b"))
    assert pod_quota.free_pod("default/a")
    pod_quota.check_pod(Pod.from_json(pod("b")))
    assert not pod_quota.free_pod("default/a")


def test_a_scope_narrows_a_quota() -> None:
    best_effort_quota = quotas(few={"hard": {"pods": "0"}, "scopes": ["BestEffort"]})
    assert refusal(best_effort_quota, pod("a"))
    best_effort_quota.check_pod(Pod.from_json(pod("a", requests={"cpu": "1"})))


def test_a_quota_that_cannot_be_read_is_told_and_limits_nothing() -> None:
    unreadable_quota = quotas(bad={"hard": {"pods": "many"}})
    unreadable_quota.check_pod(Pod.from_json(pod("a")))
    assert unreadable_quota.problems[0].startswith("ResourceQuota default/bad: limits nothing: spec.hard.pods: ")


def test_overhead_and_init_containers_count() -> None:
    raw = pod("a", requests={"cpu": "1"}, overhead={"cpu": "250m"})
    raw["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "2", "nvidia.com/gpu": "1"}}}]
    usage = {name: str(amount) for name, amount in compute_pod_usage(Pod.from_json(raw)).items()}
    assert usage == {
        "cpu": "2250m",
        "requests.cpu": "2250m",
        "requests.nvidia.com/gpu": "1",
        "pods": "1",
        "count/pods": "1",
    }


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["100m", "1", "1500m"])), max_size=30))
def test_what_is_used_is_the_sum_of_what_is_there(turns: list[tuple[int, str]]) -> None:
    cluster_quotas = quotas(q={"hard": {"requests.cpu": "100", "pods": "100"}})
    charged_pods: dict[str, Pod] = {}
    for number, cpu in turns:
        key = f"default/p{number}"
        if key in charged_pods:
            cluster_quotas.free_pod(key)
            del charged_pods[key]
        else:
            charged_pods[key] = Pod.from_json(pod(f"p{number}", requests={"cpu": cpu}))
            cluster_quotas.charge_pod(charged_pods[key])
    (quota,) = cluster_quotas.list_quotas("default")
    used = quota.used["requests.cpu"].nano if quota.used else 0
    assert used == sum(charged_pod.requests["cpu"] for charged_pod in charged_pods.values()) * 10**6
