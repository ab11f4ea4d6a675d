"""Nodes tried all at once, and what is remembered of them, against trying each node anew."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.state.nominator import Nominator
from tests.engine.builders import node, pod, scheduler
from tests.support import tiers


class Unknown:
    """A filter that cannot say which pods it heeds: each node has to be tried on its own."""

    name = "Unknown"


def budget(name: str, app: str, allowed: int) -> dict:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def wishes(draw: random.Random, chance: float) -> dict:
    """Draw a pod's constraints on others: their absence, an even spread, a port of the host."""
    selector = {"labelSelector": {"matchLabels": {"app": draw.choice("xyz")}}}
    key = draw.choice(["zone", "kubernetes.io/hostname"])
    spec: dict[str, Any] = {}
    if draw.random() < chance:
        terms = [{**selector, "topologyKey": key}]
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if draw.random() < chance:
        spread = {**selector, "topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [spread]
    if draw.random() < chance:
        spec["container"] = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    return spec


def crowd(draw: random.Random) -> tuple[list[dict], list[dict]]:
    """(nodes, bound pods and budgets; waiting pods), drawn at random."""
    objects = [
        node(f"n{number}", allocatable={"pods": draw.choice(["5", "110"])}, labels={"zone": draw.choice("ab")})
        for number in range(6)
    ]
    objects += [budget(app, app, draw.randint(0, 2)) for app in draw.sample("xyz", draw.randint(0, 2))]
    for number in range(draw.randint(6, 40)):
        bound = pod(
            f"b{number}",
            on=f"n{draw.randrange(6)}",
            labels={"app": draw.choice("xyz")},
            requests={"cpu": draw.choice(["100m", "500m", "1", "2"])},
            priority=draw.choice([0, 1, 2, 20]),
            **wishes(draw, 0.05),
        )
        if draw.random() < 0.7:
            bound["status"] = {"startTime": f"2026-01-01T00:0{draw.randint(0, 4)}:00Z"}
        objects.append(bound)
    kinds = [
        pod(
            "p",
            labels={"app": draw.choice("xyz")},
            requests={"cpu": draw.choice(["500m", "1", "2", "3500m"])},
            priority=draw.choice([1, 10, 30]),
            **wishes(draw, 0.3),
        )
        for _ in range(3)
    ]
    waiting = [draw.choice(kinds) for _ in range(12)]
    return objects, [kind | {"metadata": kind["metadata"] | {"name": f"p{turn}"}} for turn, kind in enumerate(waiting)]


def outcomes(objects: list[dict], waiting: list[dict], nominated: dict[str, dict] | None = None) -> list[Any]:
    engine = scheduler(*objects)
    engine.nominator = Nominator()
    for name, raw in (nominated or {}).items():
        engine.nominator.add_nominated_pod(Pod.from_json(raw), name)
    placements: list[Any] = []
    for raw in waiting:
        placements.append(engine.schedule_one(Pod.from_json(raw), SearchRequest(post_filter=True)))
        if not placements[-1].node:
            placements.append(engine.schedule_one(Pod.from_json(raw), SearchRequest(preempt=True)))
    return placements


@settings(max_examples=tiers.count(10, 100))
@given(st.integers(0, 2**32))
def test_all_at_once_and_one_by_one_come_to_the_same(seed: int) -> None:
    objects, waiting = crowd(random.Random(seed))
    at_once = outcomes(objects, waiting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CycleHandle, "filters_beyond_room", lambda self, pod: [Unknown()])
        assert outcomes(objects, waiting) == at_once


@settings(max_examples=tiers.count(10, 100))
@given(st.integers(0, 2**32))
def test_nominated_pods_are_heeded_and_then_forgotten(seed: int) -> None:
    draw = random.Random(seed)
    objects, waiting = crowd(draw)
    nominated = {
        f"n{draw.randrange(6)}": pod(f"q{number}", requests={"cpu": "1"}, priority=draw.choice([5, 15]))
        for number in range(2)
    }
    at_once = outcomes(objects, waiting, nominated)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CycleHandle, "filters_beyond_room", lambda self, pod: [Unknown()])
        assert outcomes(objects, waiting, nominated) == at_once


def limited(*objects: dict, absolute: int) -> Scheduler:
    args = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": absolute}
    return scheduler(*objects, pluginConfig=[{"name": "DefaultPreemption", "args": args}])


def full(name: str, priority: int, app: str = "x") -> dict:
    return pod(f"on-{name}", on=name, requests={"cpu": "4"}, priority=priority, labels={"app": app})


def test_the_search_ends_with_enough_candidates() -> None:
    nodes = [node(name) for name in "abc"]
    pods = [full("a", 20), full("b", 10), full("c", 0)]
    incoming = Pod.from_json(pod("p", requests={"cpu": "1"}, priority=100))
    for absolute, expected_node in ((1, "a"), (2, "b"), (3, "c")):
        engine = limited(*nodes, *pods, absolute=absolute)
        assert engine.schedule_one(incoming, SearchRequest(post_filter=True)).nominated == expected_node


def test_the_search_goes_on_until_a_candidate_violates_no_budget() -> None:
    nodes = [node(name) for name in "abcd"]
    pods = [full("a", 0), full("b", 0), full("c", 50, "y"), full("d", 0, "y")]
    engine = limited(*nodes, *pods, budget("kept", "x", 0), absolute=1)
    incoming = Pod.from_json(pod("p", requests={"cpu": "1"}, priority=100))
    placement = engine.schedule_one(incoming, SearchRequest(post_filter=True))
    assert placement.nominated == "c"


def test_what_is_known_of_a_node_follows_its_pods() -> None:
    engine = scheduler(node("a"), node("b"), full("a", 0), full("b", 50))
    kind: dict[str, Any] = {"requests": {"cpu": "3"}, "priority": 100}
    placed = [
        engine.schedule_one(Pod.from_json(pod(f"p{number}", **kind)), SearchRequest(preempt=True))
        for number in range(3)
    ]
    assert [(placement.node, placement.victims) for placement in placed] == [
        ("a", ("default/on-a",)),
        ("b", ("default/on-b",)),
        ("", ()),
    ]
    engine.snapshot.remove_pod("default/p0")
    engine.bind_pod(Pod.from_json(pod("small", requests={"cpu": "2"}, priority=1)), "a")
    second_placement = engine.schedule_one(Pod.from_json(pod("p3", **kind)), SearchRequest(preempt=True))
    assert (second_placement.node, second_placement.victims) == ("a", ("default/small",))


def test_once_a_nomination_is_gone_the_room_is_free_again() -> None:
    engine = scheduler(node("a"), full("a", 0))
    engine.nominator.add_nominated_pod(Pod.from_json(pod("q", requests={"cpu": "3"}, priority=15)), "a")
    kind: dict[str, Any] = {"requests": {"cpu": "2"}, "priority": 10}

    def nominated(name: str) -> str | None:
        return engine.schedule_one(Pod.from_json(pod(name, **kind)), SearchRequest(post_filter=True)).nominated

    assert [nominated("p0"), nominated("p1")] == ["", ""]
    engine.nominator.delete_nominated_pod("default/q")
    assert nominated("p2") == "a"
