"""Nominated pods of each node."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.state.nominator import Nominator
from tests.engine import builders
from tests.engine.builders import pod, scheduler


def nominated(name: str, node: str = "") -> Pod:
    return Pod.from_json({**pod(name), "status": {"nominatedNodeName": node}})


def test_a_pod_is_nominated_to_the_last_node_named() -> None:
    nominator = Nominator()
    nominator.add_nominated_pod(nominated("a"), "one")
    nominator.add_nominated_pod(nominated("a"), "two")
    assert nominator.nominated_pods_for_node("one") == ()
    assert [nominated.key for nominated in nominator.nominated_pods_for_node("two")] == ["default/a"]


def test_no_node_takes_the_nomination_away() -> None:
    nominator = Nominator()
    nominator.add_nominated_pod(nominated("a"), "one")
    nominator.add_nominated_pod(nominated("a"), "")
    assert not len(nominator)
    assert nominator.nominated_pods_for_node("one") == ()
    assert nominator.nominated_node("default/a") == ""


def test_a_nomination_not_yet_in_the_object_outlives_an_update() -> None:
    nominator, fresh = Nominator(), nominated("a")
    nominator.add_nominated_pod(nominated("a"), "one")
    nominator.update_nominated_pod(nominated("a"), fresh)
    assert nominator.nominated_pods_for_node("one") == (fresh,)


def test_an_update_that_drops_the_nomination_ends_it() -> None:
    nominator = Nominator()
    nominator.add_nominated_pod(nominated("a", "one"), "one")
    nominator.update_nominated_pod(nominated("a", "one"), nominated("a"))
    assert not len(nominator)


def test_a_pod_that_was_tried_beside_others_takes_no_host_port_from_them() -> None:
    port: dict[str, Any] = {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}
    engine = scheduler(builders.node("one"), pod("there", on="one", **port))
    engine.nominator.add_nominated_pod(Pod.from_json(pod("nominated", priority=5, **port)), "one")
    assert not engine.schedule_one(Pod.from_json(pod("first", **port))).node
    engine.nominator.delete_nominated_pod("default/nominated")
    assert not engine.schedule_one(Pod.from_json(pod("second", **port))).node


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "remove"]), st.sampled_from("abcd"), st.sampled_from(["", "x", "y", "z"]))
)


@given(OPERATIONS)
def test_it_behaves_as_a_map_from_pods_to_nodes(operations: list[tuple[str, str, str]]) -> None:
    nominator, model = Nominator(), dict[str, Any]()
    for operation, name, node in operations:
        model.pop(f"default/{name}", None)
        if operation == "add":
            nominator.add_nominated_pod(nominated(name), node)
            if node:
                model[f"default/{name}"] = node
        else:
            nominator.delete_nominated_pod(f"default/{name}")
        for node_name in "xyz":
            assert [nominated.key for nominated in nominator.nominated_pods_for_node(node_name)] == [
                key for key, value in model.items() if value == node_name
            ]
    assert len(nominator) == len(model)
