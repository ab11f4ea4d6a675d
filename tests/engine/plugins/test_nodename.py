"""NodeName: a pod that names its node goes nowhere else."""

from __future__ import annotations

from kschedweb.engine.framework.events import NODE_DELETE
from kschedweb.engine.objects.node import Node
from tests.engine.builders import NEVER, explain, list_refusals, node, pod
from tests.engine.waking import wakes, wakes_on_node_add, wakes_on_node_update

NAME = "NodeName"
REFUSED = (NEVER, "node(s) didn't match the requested node name")


def test_every_other_node_is_refused_up_to_1_36() -> None:
    assert list_refusals(explain(pod("p", on="b"), node("a"), node("b"), release="1.36"), NAME) == {"a": REFUSED}
    assert list_refusals(explain(pod("p"), node("a"), node("b"), release="1.36"), NAME) == {}


def test_a_node_that_does_not_exist_refuses_all_up_to_1_36() -> None:
    answer = explain(pod("p", on="c"), node("a"), node("b"), release="1.36")
    assert list_refusals(answer, NAME) == {"a": REFUSED, "b": REFUSED}


def test_since_1_37_no_other_node_is_looked_at() -> None:
    answer = explain(pod("p", on="b"), node("a"), node("b"), release="1.37")
    assert (answer["feasible"], answer["chosen"], list_refusals(answer, NAME)) == (["b"], "b", {})
    nowhere = explain(pod("p", on="c"), node("a"), node("b"), release="1.37")
    assert (nowhere["feasible"], list_refusals(nowhere, NAME)) == (None, {})


def test_only_a_node_that_comes_wakes() -> None:
    assert wakes_on_node_add(NAME, pod("p"), node("n"))
    assert not wakes(NAME, pod("p"), NODE_DELETE, Node.from_json(node("n")), None)
    assert not wakes_on_node_update(NAME, pod("p"), node("n"), node("n", allocatable={"cpu": "8"}))
