"""Extenders: what they are asked, and what their answers mean."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod
from kschedweb.engine.extenders.extender import ExtenderError, Extenders, NotAskedError, TransportError
from kschedweb.engine.framework.interface import Cycle
from tests.engine.builders import node, pod, scheduler

URL = "http://extender.example/scheduler/"
NAMES = ["a", "b", "c"]


class Answers:
    """Stands at the other end of the wire: gives each path its answer, and keeps what was asked."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers
        self.asked: list[tuple[str, dict, float]] = []

    def __call__(self, url: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        self.asked.append((url, json.loads(body), timeout))
        answer = self._answers[url.rpartition("/")[2]]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return answer, b""
        return 200, answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def cycle(**spec: Any) -> Cycle:
    engine = scheduler(*(node(name) for name in NAMES))
    return Cycle(engine.snapshot, Pod.from_json(pod("p", requests=spec.pop("requests", {"cpu": "1"}), **spec)))


def extenders(post: Any, *configurations: dict) -> Extenders:
    return Extenders(
        [{"urlPrefix": URL, "httpTimeout": "1.5s", **configuration} for configuration in configurations], post
    )


def filtered(post: Any, *configurations: dict, world: Cycle | None = None) -> tuple[list[str], dict]:
    passed = extenders(post, *configurations).filter(world or cycle(), np.arange(3))
    return [NAMES[row] for row in passed.rows], {
        name: (status.code.value, status.reasons) for name, status in passed.statuses.items()
    }


BY_NAME = {"filterVerb": "filter", "nodeCacheCapable": True}
BY_OBJECT = {"filterVerb": "filter"}


def test_the_order_of_the_answer_is_the_order_of_the_nodes() -> None:
    post = Answers(filter={"NodeNames": ["c", "a"]})
    assert filtered(post, BY_NAME) == (["c", "a"], {})
    ((url, body, timeout),) = post.asked
    assert (url, timeout) == ("http://extender.example/scheduler/filter", 1.5)
    assert body["NodeNames"] == NAMES
    assert body["Nodes"] is None
    assert body["Pod"]["metadata"]["name"] == "p"


def test_nodes_are_sent_whole_to_those_who_do_not_know_them() -> None:
    post = Answers(filter={"nodes": {"items": [node("b")]}})
    passed = extenders(post, BY_OBJECT).filter(cycle(), np.arange(3))
    assert [NAMES[row] for row in passed.rows] == ["b"]
    assert passed.bare == [node("b")]
    assert [item["metadata"]["name"] for item in post.asked[0][1]["Nodes"]["items"]] == NAMES
    assert post.asked[0][1]["NodeNames"] is None


def test_reasons_are_kept_and_the_unresolvable_ones_count() -> None:
    answer = {
        "nodenames": ["a"],
        "FailedNodes": {"b": "busy", "c": "full", "x": "unknown"},
        "FailedAndUnresolvableNodes": {"c": "broken"},
    }
    assert filtered(Answers(filter=answer), BY_NAME) == (
        ["a"],
        {
            "b": ("Unschedulable", ("busy",)),
            "c": ("UnschedulableAndUnresolvable", ("broken",)),
            "x": ("Unschedulable", ("unknown",)),
        },
    )


@pytest.mark.parametrize("answer", [{}, {"NodeNames": None}, {"NodeNames": []}, None, {"Nodes": {"items": None}}])
def test_an_answer_without_nodes_leaves_none(answer: Any) -> None:
    assert filtered(Answers(filter=answer), BY_NAME) == ([], {})


@pytest.mark.parametrize(
    ("answer", "expected_error"),
    [
        (500, "failed filter with extender at URL http://extender.example/scheduler/filter, code 500"),
        ({"Error": "out of order"}, "out of order"),
        (TransportError("gone"), 'Post "http://extender.example/scheduler/filter": gone'),
        (b"", "EOF"),
        (b'{"NodeNames": [', "unexpected EOF"),
        (b"<html>", "invalid character '<' looking for beginning of value"),
        ([], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
        (
            {"NodeNames": "a"},
            "json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string",
        ),
        (
            {"NodeNames": ["x"]},
            f'extender "{URL}" claims a filtered node "x" which is not found in the input node list',
        ),
    ],
)
def test_a_failure_ends_the_cycle_unless_it_may_be_ignored(answer: Any, expected_error: str) -> None:
    post = Answers(filter=answer)
    with pytest.raises(ExtenderError) as failure:
        filtered(post, BY_NAME)
    assert str(failure.value) == expected_error
    assert filtered(post, {**BY_NAME, "ignorable": True}) == (NAMES, {})


def test_those_that_may_be_ignored_are_asked_last_and_see_what_is_left() -> None:
    post = Answers(first={"NodeNames": ["b", "c"], "FailedNodes": {"a": "no"}}, last={"NodeNames": ["c"]})
    lenient = {"filterVerb": "last", "nodeCacheCapable": True, "ignorable": True}
    strict = {"filterVerb": "first", "nodeCacheCapable": True}
    assert filtered(post, lenient, strict) == (["c"], {"a": ("Unschedulable", ("no",))})
    assert [(url.rpartition("/")[2], body["NodeNames"]) for url, body, _ in post.asked] == [
        ("first", NAMES),
        ("last", ["b", "c"]),
    ]


def test_nobody_is_asked_once_no_node_is_left() -> None:
    post = Answers(filter={"NodeNames": []})
    filtered(post, BY_NAME, BY_NAME)
    assert len(post.asked) == 1


def test_pods_that_ask_for_nothing_it_manages_are_not_its_business() -> None:
    managing = {**BY_NAME, "managedResources": [{"name": "example.com/fpga"}]}
    post = Answers(filter={"NodeNames": []})
    assert filtered(post, managing) == (NAMES, {})
    assert filtered(post, managing, world=cycle(requests={"example.com/fpga": "1"})) == ([], {})
    limited = {"resources": {"limits": {"example.com/fpga": "1"}}}
    inits = [{"name": "i", "image": "registry.example/i", **limited}]
    assert filtered(post, managing, world=cycle(initContainers=inits)) == ([], {})


def test_scores_are_weighted_and_added() -> None:
    post = Answers(
        one=[{"Host": "a", "Score": 3}, {"host": "b", "score": 10}, {"Host": "x", "Score": 5}],
        two=[{"Host": "a", "Score": 1}],
        broken=500,
    )
    doubled, two = (
        {"prioritizeVerb": "one", "weight": 2},
        {"prioritizeVerb": "two", "weight": 1, "nodeCacheCapable": True},
    )
    all_extenders = extenders(post, doubled, two, {"prioritizeVerb": "broken", "weight": 1})
    added, spoken = all_extenders.prioritize(cycle(), all_extenders.filter(cycle(), np.arange(3)))
    assert added.tolist() == [3 * 2 * 10 + 1 * 10, 10 * 2 * 10, 0]
    assert spoken.tolist() == [True, True, False]


def test_an_extender_that_only_filters_still_speaks_about_every_node() -> None:
    all_extenders = extenders(Answers(), {"bindVerb": "bind"})
    added, spoken = all_extenders.prioritize(cycle(), all_extenders.filter(cycle(), np.arange(3)))
    assert (added.tolist(), spoken.tolist()) == ([0, 0, 0], [True, True, True])


def test_binding_is_left_to_the_first_that_binds() -> None:
    post = Answers(bind={}, broken={"Error": "no"})
    incoming = cycle().pod
    assert extenders(post, {"bindVerb": "bind"}).bind(incoming, "a")
    assert post.asked[0][1] == {
        "PodName": "p",
        "PodNamespace": "default",
        "PodUID": "default/p",
        "Node": "a",
    }
    assert not extenders(post, {"bindVerb": "broken", "ignorable": True}).bind(incoming, "a")
    with pytest.raises(ExtenderError, match=r"^no$"):
        extenders(post, {"bindVerb": "broken"}).bind(incoming, "a")


def test_an_extender_that_may_not_be_asked_is_never_taken_to_agree() -> None:
    all_extenders = extenders(None, {**BY_NAME, "ignorable": True})
    assert all_extenders.unasked_urls(cycle().pod, "filter") == [URL]
    assert all_extenders.unasked_urls(cycle().pod, "preempt", "prioritize") == []
    with pytest.raises(NotAskedError, match="outside the simulation: extender"):
        all_extenders.filter(cycle(), np.arange(3))
