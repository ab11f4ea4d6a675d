"""NodeUnschedulable: a cordon keeps pods away that do not tolerate it."""

from __future__ import annotations

import pytest

from tests.engine.builders import NEVER, explain, list_refusals, node, pod
from tests.engine.waking import wakes_on_node_add, wakes_on_node_update, wakes_on_pod_update

NAME = "NodeUnschedulable"
CORDON = "node.kubernetes.io/unschedulable"
CORDONED = node("n", unschedulable=True)
TOLERANT = pod("p", tolerations=[{"key": CORDON, "operator": "Exists"}])
ELSEWHERE = pod("p", tolerations=[{"key": "k", "operator": "Exists"}])


def test_a_cordoned_node_is_refused() -> None:
    answer = explain(pod("p"), CORDONED, node("m"))
    assert list_refusals(answer, NAME) == {"n": (NEVER, "node(s) were unschedulable")}


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": CORDON, "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": CORDON, "effect": "NoSchedule"}, True),
        ({"key": CORDON, "value": "x"}, False),
        ({"key": CORDON, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Exists"}, False),
    ],
)
def test_it_is_tolerated_as_a_taint_without_a_value(toleration: dict, fits: bool) -> None:
    assert ("chosen" in explain(pod("p", tolerations=[toleration]), CORDONED)) is fits


def test_a_node_that_is_not_cordoned_wakes() -> None:
    assert wakes_on_node_add(NAME, pod("p"), node("n"))
    assert not wakes_on_node_add(NAME, pod("p"), CORDONED)
    assert wakes_on_node_update(NAME, pod("p"), CORDONED, node("n"))
    assert not wakes_on_node_update(NAME, pod("p"), node("n"), node("n", taints=[{"key": "k", "effect": "NoSchedule"}]))


def test_to_tolerate_the_cordon_wakes() -> None:
    assert wakes_on_pod_update(NAME, pod("p"), pod("p"), TOLERANT)
    assert not wakes_on_pod_update(NAME, pod("p"), pod("p"), ELSEWHERE)
