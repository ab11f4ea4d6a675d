"""Cached plans for identical pods stay true while pods come and go."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from tests.engine.builders import node, pod, scheduler
from tests.support import tiers

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def term(key: str, app: str = "a") -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def spread(when: str, key: str, **more: Any) -> dict[str, Any]:
    return {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": when, **term(key), **more}]}


def affinity(kind: str, *terms: dict[str, Any], weight: int = 0) -> dict[str, Any]:
    if weight:
        wished = [{"weight": weight, "podAffinityTerm": pod_term} for pod_term in terms]
        return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wished}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


KINDS: list[dict[str, Any]] = [
    {"requests": {"cpu": "1"}},
    {"requests": {"cpu": "2", "memory": "1Gi"}},
    {},
    {"requests": {"cpu": "8"}},
    {"requests": {"example.com/gpu": "1"}},
    {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}},
    {"container": {"image": "registry.example/large:v1"}},
    {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]},
    spread("DoNotSchedule", ZONE),
    spread("DoNotSchedule", HOSTNAME, minDomains=3),
    spread("ScheduleAnyway", ZONE, nodeTaintsPolicy="Honor"),
    spread("ScheduleAnyway", HOSTNAME),
    affinity("podAffinity", term(ZONE)),
    affinity("podAffinity", term(HOSTNAME), term(ZONE, "b")),
    affinity("podAntiAffinity", term(HOSTNAME)),
    affinity("podAntiAffinity", term(ZONE, "b")),
    affinity("podAffinity", term(ZONE, "b"), weight=10),
    affinity("podAntiAffinity", term(HOSTNAME), term(ZONE, "b"), weight=7),
]
NODES = [
    node(
        name,
        labels={"disk": ("ssd", "hdd")[number % 2], **({ZONE: "xyz"[number % 3]} if number != 5 else {})},
        taints=[{"key": "slow", "effect": "PreferNoSchedule" if number < 4 else "NoSchedule"}] if number > 2 else [],
        allocatable={"cpu": str(2 + number % 3), "pods": "5", **({"example.com/gpu": "2"} if number == 1 else {})},
        images=[{"names": ["registry.example/large:v1"], "sizeBytes": 900_000_000}] if number < 2 else [],
    )
    for number, name in enumerate("abcdef")
]
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
# Most steps bring a pod of a kind with an app label; some take the oldest pod, or that of a number, away.
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, len(KINDS) - 1), st.sampled_from("ab")), min_size=5, max_size=40
)


@settings(max_examples=tiers.count(60, 500))
@given(STEPS, st.booleans())
def test_a_scheduler_that_remembers_decides_as_one_that_does_not(
    steps: list[tuple[int, int, str]], service: bool
) -> None:
    services = [{**SERVICE, "spec": {"selector": {"app": "a"}}}] if service else []
    remembering = scheduler(*NODES, *services)
    bound: list[str] = []
    for number, (comes, kind, app) in enumerate(steps):
        if not comes and bound:
            remembering.snapshot.remove_pod(bound.pop(kind % len(bound)))
            continue
        next_pod = Pod.from_json(pod(f"p{number}", labels={"app": app}, **KINDS[kind]))
        forgetful = Scheduler(remembering.snapshot.copy(), remembering.configuration)
        expected = forgetful.schedule_one(next_pod, SearchRequest(start=remembering.start))
        placement = remembering.schedule_one(next_pod)
        assert placement == expected
        if placement.node:
            bound.append(next_pod.key)


def test_a_full_node_takes_pods_again_once_one_is_gone() -> None:
    engine = scheduler(node("a"))
    pods = [Pod.from_json(pod(f"p{number}", requests={"cpu": "2"})) for number in range(4)]
    assert [bool(engine.schedule_one(waiting).node) for waiting in pods[:3]] == [True, True, False]
    engine.snapshot.remove_pod("default/p0")
    assert engine.schedule_one(pods[3]).node == "a"
