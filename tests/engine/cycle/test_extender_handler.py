"""An extender's answers, as the engine's own client of extenders and kube-scheduler's types understand them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.extender_handler import (
    ExtenderArgs,
    ExtenderArgsError,
    ExtenderBindingArgs,
    ExtenderHandler,
    ExtenderPreemptionArgs,
    choose_plugins,
    compute_weight,
)
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.releases import load
from tests.engine.builders import CONFIGURATION, node, pod

MOST_ALLOCATED = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
FITS = "NodeResourcesFit"
FIT = frozenset({FITS})


def configuration(**fields: Any) -> Configuration:
    loaded = load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **fields}]})
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def packing() -> ExtenderHandler:
    return ExtenderHandler(configuration(pluginConfig=[MOST_ALLOCATED]), FIT)


def cluster() -> Snapshot:
    """``full`` has no room for 2 CPU, ``half`` is better packed than ``empty``; ``tiny`` could never take them."""
    filled = [pod("a", on="full", requests={"cpu": "3"}), pod("b", on="half", requests={"cpu": "2"})]
    tiny = node("tiny", allocatable={"cpu": "1"})
    return Snapshot.from_objects([node("full"), node("half"), node("empty"), tiny, *filled])


def body(names: list[str] | None = None, items: list[dict] | None = None, raw: dict | None = None) -> bytes:
    nodes = None if items is None else {"metadata": {}, "items": items}
    raw = raw or pod("p", requests={"cpu": "2", "memory": "1Gi"})
    return json.dumps({"Pod": raw, "Nodes": nodes, "NodeNames": names}).encode()


def test_names_that_pass_come_back_and_the_others_with_their_reasons() -> None:
    question = ExtenderArgs.from_body(body(["full", "half", "empty", "tiny"]))
    assert packing().filter(cluster(), question) == {
        "Nodes": None,
        "NodeNames": ["half", "empty"],
        "FailedNodes": {"full": "Insufficient cpu"},
        "FailedAndUnresolvableNodes": {"tiny": "Insufficient cpu"},
        "Error": "",
    }


def test_whole_nodes_come_back_whole_and_those_that_are_not_known_pass() -> None:
    items = [node("new"), node("full"), node("half", labels={"seen": "by kube-scheduler"})]
    answer = packing().filter(cluster(), ExtenderArgs.from_body(body(items=items)))
    assert answer["NodeNames"] is None
    assert answer["Nodes"] == {"metadata": {}, "items": [items[0], items[2]]}
    assert answer["FailedNodes"] == {"full": "Insufficient cpu"}


def test_scores_are_the_totals_brought_to_ten_and_unknown_nodes_score_nothing() -> None:
    question = ExtenderArgs.from_body(body(["new", "empty", "half"]))
    # MostAllocated of half: CPU 4 of 4, memory 1200 of 8192 MiB: (100 + 14) / 2 = 57; of empty: (50 + 12) / 2 = 31.
    assert packing().prioritize(cluster(), question) == [
        {"Host": "new", "Score": 0},
        {"Host": "empty", "Score": 3},
        {"Host": "half", "Score": 6},
    ]


def test_a_pod_that_is_bound_by_now_is_judged_as_if_it_were_not() -> None:
    question = ExtenderArgs.from_body(body(["full"], raw=pod("a", requests={"cpu": "3"})))
    assert packing().filter(cluster(), question)["NodeNames"] == ["full"]


def test_a_node_is_agreed_to_where_the_pod_fits_without_the_victims() -> None:
    snapshot = cluster()
    victims = {
        "full": {"Pods": [{"UID": "default/a"}], "NumPDBViolations": 1},
        "half": {"Pods": [], "NumPDBViolations": 0},
        "tiny": {"Pods": [], "NumPDBViolations": 0},
        "new": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0},
    }
    body_json = {"Pod": pod("p", requests={"cpu": "3"}), "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}
    before = snapshot.requested.copy()
    answer = packing().process_preemption(snapshot, ExtenderPreemptionArgs.from_body(json.dumps(body_json).encode()))
    assert answer == {"NodeNameToMetaVictims": {name: victims[name] for name in ("full", "new")}}
    assert (snapshot.requested == before).all()


def test_whole_victims_are_known_by_their_uids() -> None:
    victim = pod("a", on="full", requests={"cpu": "3"})
    victim["metadata"]["uid"] = "u-1"
    body_json = {"Pod": pod("p"), "NodeNameToVictims": {"full": {"Pods": [victim], "NumPDBViolations": 2}}}
    assert ExtenderPreemptionArgs.from_body(json.dumps(body_json).encode()).nodes == {"full": (("u-1",), 2)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "EOF"),
        (b"null", "empty"),
        (b"{}", "pod is missing"),
        (b'{"Pod": {"metadata": {}}}', "metadata.name: is missing"),
        (b'{"Pod": []}', "cannot unmarshal array"),
        (b'{"Pod": {"metadata": {"name": "p"}}, "NodeNames": "a"}', "cannot unmarshal string"),
        (b'{"Pod": {"metadata": {"name": "p"}}, "Nodes": {"items": [{"metadata": 1}]}}', "node cannot be understood"),
    ],
)
def test_what_cannot_be_understood_is_said(text: bytes, words: str) -> None:
    with pytest.raises(ExtenderArgsError, match=words):
        ExtenderArgs.from_body(text)


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ExtenderArgsError, match="exceeded max depth"):
        ExtenderArgs.from_body(b'{"Pod": ' + b"[" * 100_000)


def test_a_binding_needs_all_four_names() -> None:
    body_json = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
    assert ExtenderBindingArgs.from_body(json.dumps(body_json).encode()) == ExtenderBindingArgs("n", "p", "u", "a")
    with pytest.raises(ExtenderArgsError, match="uid to bind with is missing"):
        ExtenderBindingArgs.from_body(json.dumps(body_json | {"PodUID": ""}).encode())


def test_without_a_choice_the_plugins_are_those_that_kube_scheduler_lacks() -> None:
    default = configuration()
    assert choose_plugins(default) == frozenset()
    enabled = [{"name": "TargetLoadPacking", "weight": 3}]
    aware = configuration(plugins={"multiPoint": {"enabled": enabled}})
    assert choose_plugins(aware) == {"TargetLoadPacking"}
    assert compute_weight(aware, choose_plugins(aware)) == 3
    assert choose_plugins(aware, [FITS, "Unheard"]) == FIT
    assert compute_weight(default, frozenset({FITS, "TaintToleration"})) == 4


@given(st.lists(st.integers(0, 4000), min_size=1, max_size=8), st.integers(1, 5))
def test_with_its_weight_it_adds_the_plugins_total_to_half_a_step(used: list[int], plugin_weight: int) -> None:
    """The whole way: the engine's scheduler asks as kube-scheduler does, over bytes, and adds what it is told."""
    names = [f"n{number}" for number in range(len(used))]
    filled = [pod(f"f{at}", on=names[at], requests={"cpu": f"{cpu}m", "memory": "1Mi"}) for at, cpu in enumerate(used)]
    snapshot = Snapshot.from_objects([*map(node, names), *filled])
    enabled = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}, {"name": FITS, "weight": plugin_weight}]
    plugins = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}
    policy = configuration(pluginConfig=[MOST_ALLOCATED], plugins=plugins)
    answers = ExtenderHandler(policy, FIT)

    def post(url: str, sent_body: bytes, _: float) -> tuple[int, bytes]:
        question = ExtenderArgs.from_body(sent_body)
        answer: object = getattr(answers, url.rpartition("/")[2])(snapshot, question)
        return 200, json.dumps(answer).encode()

    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": compute_weight(policy, FIT)}
    extender = {"urlPrefix": "http://x.example", "nodeCacheCapable": True, **verbs}
    asking = Scheduler(snapshot, configuration(), extenders=Extenders([extender], post))
    pod_to_place = Pod.from_json(pod("p", requests={"cpu": "0", "memory": "1Mi"}))
    expected, explanation = Scheduler(snapshot, policy).explain(pod_to_place), asking.explain(pod_to_place)
    assert explanation.feasible.tolist() == expected.feasible.tolist()
    added = next(column for column in explanation.scores if column.plugin == "Extender").raw
    assert (abs(added - expected.total) <= 5 * plugin_weight).all()
