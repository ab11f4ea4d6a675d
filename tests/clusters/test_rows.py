"""Rows, storage and the bookkeeping of readings."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters import demo, storage
from kschedweb.clusters.models import NodeRow, PodRow
from kschedweb.clusters.reader import Collection, collections_of, has_changed, is_reached
from kschedweb.clusters.rows import Problem, pod_row, rows_of
from kschedweb.engine.state.watermarks.annotations import KEY
from tests.clusters.conftest import node, pod

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def rows(*objects: dict[str, Any]) -> tuple[dict[str, NodeRow], dict[str, PodRow], list[Problem]]:
    cluster_rows = rows_of(list(objects))
    nodes, pods = [NodeRow(**row) for row in cluster_rows.nodes], [PodRow(**pod_row(pod)) for pod in cluster_rows.pods]
    return {row.name: row for row in nodes}, {row.name: row for row in pods}, cluster_rows.problems


@given(st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=3), max_size=5))
def test_what_was_packed_is_unpacked(objects: list[dict[str, Any]]) -> None:
    content, size = storage.pack_objects(objects)
    assert storage.unpack_objects(content) == objects
    assert storage.unpack_objects(memoryview(content)) == objects
    assert size == len(json.dumps(objects, separators=(",", ":")))


def test_two_thousand_pods_are_stored_small() -> None:
    pods = [item for item in demo.generate_cluster() if item["kind"] == "Pod"] * 5
    content, size = storage.pack_objects(pods)
    assert len(pods) > 2000
    assert len(content) * 8 < size


def test_a_node_adds_up_its_pods() -> None:
    bound = [pod(f"p-{index}", nodeName="node-1") for index in range(3)]
    succeeded = pod("done", nodeName="node-1") | {"status": {"phase": "Succeeded"}}
    nodes, pods, problems = rows(node(), *bound, succeeded)
    row = nodes["node-1"]
    assert (row.cpu_requested, row.memory_requested, row.pods_bound) == (1500, 3 * 2**30, 3)
    assert (row.cpu_share, row.memory_share) == (375, 375)
    assert (pods["done"].pending, pods["done"].phase) == (False, "Succeeded")
    assert problems == []


def test_labels_taints_and_conditions_become_columns() -> None:
    item = node(
        unschedulable=True,
        taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}],
    )
    item["metadata"]["labels"] = {
        "topology.kubernetes.io/zone": "z",
        "topology.kubernetes.io/region": "r",
        "node.kubernetes.io/instance-type": "big",
    }
    item["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    item["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    row = rows(item)[0]["node-1"]
    assert (row.zone, row.region, row.instance_type) == ("z", "r", "big")
    assert row.taints == ["a=b:NoSchedule", "c:NoExecute"]
    assert (row.ready, row.unschedulable) == (False, True)
    assert row.extended == {"nvidia.com/gpu": [0, 4]}


def test_a_pod_on_a_node_that_is_not_there_is_a_problem_and_still_a_row() -> None:
    _, pods, problems = rows(node(), pod("lost", nodeName="gone"))
    assert pods["lost"].node == "gone"
    assert not pods["lost"].pending
    assert "gone" in problems[0]["reason"]


def test_an_annotation_that_cannot_be_understood_is_a_problem_and_its_node_still_a_row() -> None:
    raw = node("odd")
    raw["metadata"]["annotations"] = {KEY: "41 percent"}
    nodes, _, problems = rows(raw)
    assert "odd" in nodes
    assert problems == [{"object": "Node odd", "reason": f"annotation {KEY}: is not JSON"}]


def test_a_pending_pod_says_why_in_its_schedulers_words() -> None:
    item = pod("waiting", schedulerName="own", priority=7, schedulingGates=[{"name": "g"}])
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    item["status"] = {"phase": "Pending", "conditions": [condition]}
    item["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    ]
    item["metadata"]["creationTimestamp"] = "2026-11-01T10:00:00Z"
    row = rows(item)[1]["waiting"]
    assert (row.pending, row.gated, row.scheduler_name, row.priority) == (True, True, "own", 7)
    assert (row.owner, row.message) == ("ReplicaSet/web", "0/1 nodes are available")
    assert row.created_at is not None
    assert (row.cpu_request, row.memory_request) == (500, 2**30)


def test_amounts_beyond_every_column_are_cut_to_it() -> None:
    item = node()
    item["status"]["allocatable"] = {"cpu": "9999999999999999", "memory": "9999999999999999999999", "pods": "1"}
    row = rows(item)[0]["node-1"]
    assert row.cpu_allocatable <= 2**63 - 1
    assert row.memory_allocatable <= 2**63 - 1


def test_a_reading_is_compared_by_the_versions_of_its_objects() -> None:
    def reading(**versions: str) -> dict[str, Collection]:
        objects = {
            f"/{name}": {"kind": "Node", "metadata": {"name": name, "resourceVersion": version}}
            for name, version in versions.items()
        }
        return {"Node": Collection(objects, "9"), "Pod": Collection({}, "9")}

    assert has_changed(None, reading())
    assert not has_changed(reading(a="1", b="2"), reading(b="2", a="1"))
    assert has_changed(reading(a="1"), reading(a="2"))
    assert has_changed(reading(a="1", b="2"), reading(a="1"))
    reread = collections_of([item for item in reading(a="1")["Node"].objects.values()], {"Node": "9"})
    assert not has_changed(reread, reading(a="1"))


def test_versions_are_compared_as_numbers_and_never_guessed() -> None:
    assert is_reached("10", "9")
    assert is_reached("9", "9")
    assert not is_reached("9", "10")
    assert not is_reached("", "10")
    assert not is_reached("abc", "abc")
