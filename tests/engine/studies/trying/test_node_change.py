"""Effects of losing and adding nodes: who moves, who waits, who is gone, held against a drain and a sizing by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.trying.node_change import NodeChange, NodeChangeEffect, play_node_change
from kschedweb.engine.studies.trying.policy_effect import GAINED, LOST, MOVED
from tests.engine.studies.clusters import configuration, node, pod

MIRROR = {"kubernetes.io/config.mirror": "x"}


def play(objects: list[Json], change: NodeChange) -> NodeChangeEffect:
    return play_node_change(objects, configuration(), change, lambda *_: None)


def test_pods_of_a_lost_node_move_or_wait() -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    pods = [pod("a", "n1", cpu="2"), pod("b", "n1", cpu="2"), pod("c", "n2", cpu="2"), pod("d", "n3", cpu="4")]
    effect = play([*nodes, *pods], NodeChange(lost=("n1",)))
    assert (effect.pending_before, effect.pending_after) == (0, 1)
    places = {place.pod: (place.kind, place.before, place.after) for place in effect.pods}
    assert sorted(places.values()) == [(LOST, "n1", ""), (MOVED, "n1", "n2")]
    (waiting,) = [place for place in effect.pods if place.kind == LOST]
    assert waiting.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_added_nodes_take_pending_pods_and_leave_bound_ones() -> None:
    waiting = [pod("w1", cpu="3"), pod("w2", cpu="3"), pod("w3", cpu="3")]
    effect = play(
        [node("n1", "z1"), pod("a", "n1", cpu="2"), *waiting], NodeChange(like="n1", added=2, zones=("z2", "z3"))
    )
    assert (effect.pending_before, effect.pending_after) == (3, 1)
    assert [(place.kind, place.before) for place in effect.pods] == [(GAINED, ""), (GAINED, "")]
    assert effect.added == ("n1-new-1", "n1-new-2")
    assert [(load.name, load.zone, load.before, load.after) for load in effect.nodes] == [
        ("n1", "z1", 50.0, 50.0),
        ("n1-new-1", "z2", None, 75.0),
        ("n1-new-2", "z3", None, 75.0),
    ]


def test_pods_that_belong_to_a_lost_node_go_with_it() -> None:
    static = pod("static", "n1", owner="Node/n1")
    static["metadata"]["annotations"] = MIRROR
    alone, daemon = pod("alone", "n1", owner=""), pod("daemon", "n1", owner="DaemonSet/agents")
    effect = play([node("n1"), node("n2"), static, alone, daemon], NodeChange(lost=("n1",)))
    assert effect.unreplaced == ("default/alone",)
    assert effect.pods == ()
    assert (effect.pending_before, effect.pending_after) == (0, 0)


def test_a_lost_node_can_be_the_one_that_is_copied() -> None:
    effect = play([node("n1"), pod("a", "n1")], NodeChange(lost=("n1",), like="n1", added=1))
    assert [(place.before, place.after) for place in effect.pods] == [("n1", "n1-new-1")]


@pytest.mark.parametrize(
    ("change", "path"),
    [(NodeChange(lost=("nx",)), "lose"), (NodeChange(like="nx", added=1), "add")],
    ids=["lost", "copied"],
)
def test_an_unknown_node_is_an_error_at_its_part(change: NodeChange, path: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        play([node("n1"), pod("a", "n1")], change)
    assert [problem.path.split(".")[0].split("[")[0] for problem in raised.value.problems] == [path]


@settings(max_examples=25, deadline=None)
@given(
    bound=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["1", "2"])), max_size=8),
    waiting=st.integers(0, 4),
    lost=st.sets(st.integers(0, 3), max_size=3),
    added=st.integers(0, 2),
)
def test_no_pod_is_forgotten(bound: list[tuple[int, str]], waiting: int, lost: set[int], added: int) -> None:
    nodes = [node(f"n{number}", cpu="16") for number in range(4)]
    pods = [pod(f"b{place}", f"n{on}", cpu=cpu) for place, (on, cpu) in enumerate(bound)]
    pods += [pod(f"w{place}", cpu="9") for place in range(waiting)]
    if not pods:
        return
    gone = tuple(f"n{number}" for number in sorted(lost))
    effect = play([*nodes, *pods], NodeChange(lost=gone, like="n0" if added else "", added=added))
    by_pod = {place.pod: place for place in effect.pods}
    for place, (on, _) in enumerate(bound):
        name = f"default/b{place}"
        # A pod changes its node if and only if it loses it.
        assert (name in by_pod) is (on in lost)
        assert name not in by_pod or by_pod[name].after not in gone
    assert effect.pending_after - effect.pending_before == effect.count(LOST) - effect.count(GAINED)
