"""Quotas over time: who is kept out, and when controllers get their pods in."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.simulation import NodeDrains, NodeFallsSilent, PodArrives, PodLeaves
from tests.engine.builders import node, pod
from tests.engine.simulation.test_kubelets import OWNED, play

ONE_CPU = {"cpu": "1"}


def quota(**hard: str) -> dict[str, Any]:
    metadata = {"name": "q", "namespace": "default"}
    return {"kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}


def owned(name: str) -> dict[str, Any]:
    raw = pod(name, requests=ONE_CPU)
    raw["metadata"] |= OWNED
    return raw


def test_a_pod_that_a_quota_refuses_does_not_come() -> None:
    events = [PodArrives(1.0, pod("a", requests=ONE_CPU)), PodArrives(2.0, pod("b", requests=ONE_CPU))]
    result = play([node("n"), quota(pods="1")], events)
    assert [binding.pod for binding in result.bound] == ["default/a"]
    assert result.refused == [
        (2.0, "Pod default/b: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
    ]


def test_a_controller_gets_its_pod_in_once_there_is_room() -> None:
    events = [PodArrives(1.0, owned("a"), duration=50.0), PodArrives(2.0, owned("b"))]
    result = play([node("n"), quota(pods="1")], events, cycle=0.0)
    assert [(binding.pod, binding.time) for binding in result.bound] == [("default/a", 1.0), ("default/b", 51.0)]
    assert result.refused[0][1].endswith("its controller tries again")


def test_a_pod_that_was_evicted_is_replaced_once_it_is_gone() -> None:
    events = [PodArrives(1.0, owned("a"), replaced=True), NodeDrains(10.0, "n")]
    result = play([node("n"), node("m", taints=[{"key": "k", "effect": "NoSchedule"}]), quota(pods="1")], events)
    assert [refusal[0] for refusal in result.refused] == [10.0]
    assert [waiting_pod.pod for waiting_pod in result.pending] == ["default/a-again1"]
    assert result.pending[0].arrived == 40.0  # after the grace period


def test_a_pod_stuck_on_a_silent_node_is_not_counted_after_its_grace_period() -> None:
    keep_off = [{"key": "k", "effect": "NoSchedule"}]
    objects = [node("n"), *(node(f"m{n}", taints=keep_off) for n in range(3)), quota(pods="1")]
    events = [PodArrives(1.0, owned("a"), replaced=True), NodeFallsSilent(10.0, "n")]
    result = play(objects, events, end=2000.0)
    assert [waiting_pod.pod for waiting_pod in result.pending] == ["default/a-again1"]
    assert result.evicted[0].leaves == result.pending[0].arrived


def test_a_pod_that_is_not_wanted_any_more_does_not_come_later() -> None:
    events = [
        PodArrives(1.0, owned("a"), duration=50.0),
        PodArrives(2.0, owned("b")),
        PodLeaves(3.0, "default/b", if_there=True),
    ]
    assert [binding.pod for binding in play([node("n"), quota(pods="1")], events).bound] == ["default/a"]


def test_without_the_plugin_quotas_mean_nothing() -> None:
    events = [PodArrives(1.0, pod("a")), PodArrives(2.0, pod("b"))]
    result = play([node("n"), quota(pods="1")], events, admission=frozenset({"Priority"}))
    assert len(result.bound) == 2


def test_pods_that_are_there_at_first_count() -> None:
    result = play([node("n"), quota(pods="1"), pod("old", on="n")], [PodArrives(1.0, pod("a"))])
    assert len(result.refused) == 1
