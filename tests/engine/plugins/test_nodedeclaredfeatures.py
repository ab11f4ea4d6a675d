"""NodeDeclaredFeatures: a pod goes only where the node has what the pod's spec depends on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.builders import NEVER, explain, list_refusals, node, pod
from tests.engine.waking import wakes_on_node_add, wakes_on_node_update, wakes_on_pod_update

NAME = "NodeDeclaredFeatures"
RESTART, USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
RULES: dict[str, Any] = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}
PODS = {
    (): pod("p"),
    (RESTART,): pod("p", container=RULES),
    (USERS,): pod("p", hostNetwork=True, hostUsers=False),
    (RESTART, USERS): pod("p", container=RULES, hostNetwork=True, hostUsers=False),
}


def declaring(*features: str, name: str = "n") -> dict:
    raw = node(name)
    raw["status"]["declaredFeatures"] = sorted(features)
    return raw


@pytest.mark.parametrize("needed", PODS)
def test_a_node_must_declare_all_that_is_needed(needed: tuple[str, ...]) -> None:
    nodes = [declaring(name="none"), declaring(RESTART, name="restart"), declaring(USERS, name="users")]
    both = declaring(RESTART, USERS, name="both")
    has: dict[str, set[str]] = {"none": set(), "restart": {RESTART}, "users": {USERS}, "both": {RESTART, USERS}}
    assert list_refusals(explain(PODS[needed], *nodes, both), NAME) == {
        name: (NEVER, "node(s) didn't match Pod's required features")
        for name, features in has.items()
        if not set(needed) <= features
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"hostNetwork": True},
        {"hostNetwork": True, "hostUsers": True},
        {"hostUsers": False},
        {"container": {"restartPolicyRules": [{"action": "Restart"}]}},
    ],
)
def test_half_a_condition_needs_nothing(spec: dict) -> None:
    assert "chosen" in explain(pod("p", **spec), node("n"))


def test_init_containers_count() -> None:
    init = [{"name": "i", "image": "i", **RULES}]
    assert "chosen" not in explain(pod("p", initContainers=init), node("n"))


def test_a_node_that_declares_other_features_wakes() -> None:
    assert wakes_on_node_add(NAME, pod("p"), node("n"))
    assert wakes_on_node_update(NAME, PODS[(USERS,)], node("n"), declaring(USERS))
    assert not wakes_on_node_update(NAME, PODS[(USERS,)], node("n"), node("n", labels={"x": "y"}))


def test_to_need_other_features_wakes() -> None:
    assert wakes_on_pod_update(NAME, pod("p"), PODS[(USERS,)], pod("p"))
    assert not wakes_on_pod_update(NAME, pod("p"), pod("p"), pod("p", labels={"x": "y"}))


@settings(max_examples=40)
@given(st.sets(st.sampled_from([RESTART, USERS])), st.sampled_from(list(PODS)))
def test_what_fits_a_node_fits_one_that_declares_more(declared: set[str], needed: tuple[str, ...]) -> None:
    if "chosen" in explain(PODS[needed], declaring(*declared)):
        assert "chosen" in explain(PODS[needed], declaring(*declared, "Another"))
