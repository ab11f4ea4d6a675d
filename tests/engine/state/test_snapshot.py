from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Node, Pod, Snapshot
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.state.watermarks.capacity import capacity_percent
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import node, pod


def columns(snapshot: Snapshot) -> list[list]:
    ports = {key: {ip: c.tolist() for ip, c in ips.items() if c.any()} for key, ips in snapshot.ports.items()}
    return [
        snapshot.requested[:, :3].tolist(),
        snapshot.nonzero.tolist(),
        snapshot.pod_count.tolist(),
        {key: ips for key, ips in ports.items() if ips},
    ]


def zoned(name: str, zone: str) -> dict:
    return node(name, labels={"topology.kubernetes.io/zone": zone})


def test_nodes_are_walked_zone_by_turns() -> None:
    snapshot = Snapshot.from_objects([zoned("a", "1"), zoned("b", "1"), zoned("c", "2"), zoned("d", "1"), node("e")])
    assert snapshot.names == ["a", "c", "e", "b", "d"]


def test_six_nodes_of_two_zones_are_walked_as_the_documentation_says() -> None:
    zones = {"1": "1", "2": "1", "3": "1", "4": "1", "5": "2", "6": "2"}
    snapshot = Snapshot.from_objects([zoned(name, zone) for name, zone in zones.items()])
    assert snapshot.names == ["1", "5", "2", "6", "3", "4"]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3000), st.sampled_from([0, 80, 443])), max_size=12))
def test_removing_what_was_added_restores_every_row(pods: list[tuple[int, int, int]]) -> None:
    snapshot = Snapshot.from_objects([node("a"), node("b"), node("c")])
    before = columns(snapshot)
    for number, (row, milli, port) in enumerate(pods):
        ports = [{"containerPort": 1, "hostPort": port}] if port else []
        raw = pod(f"p{number}", requests={"cpu": f"{milli}m"}, container={"ports": ports})
        snapshot.add_pod(Pod.from_json(raw), row)
    assert snapshot.pod_count.sum() == len(pods)
    for number in reversed(range(len(pods))):
        snapshot.remove_pod(f"default/p{number}")
    assert columns(snapshot) == before


def test_a_copy_changes_on_its_own() -> None:
    snapshot = Snapshot.from_objects([node("a"), pod("p", on="a", requests={"cpu": "1"})])
    before = columns(snapshot)
    copy = snapshot.copy()
    copy.add_pod(Pod.from_json(pod("q", requests={"cpu": "1", "example.com/gpu": "1"})), 0)
    copy.remove_pod("default/p")
    assert columns(snapshot) == before
    assert copy.get_pod("default/q").name == "q"
    with pytest.raises(KeyError):
        snapshot.get_pod("default/q")


def test_finished_pods_are_left_out() -> None:
    finished = pod("done", on="a")
    finished["status"] = {"phase": "Succeeded"}
    assert Snapshot.from_objects([node("a"), finished]).pod_count.tolist() == [0]


def test_label_columns_know_missing_labels() -> None:
    snapshot = Snapshot.from_objects([zoned("a", "x"), node("b"), zoned("c", "y")])
    column = snapshot.label_column("topology.kubernetes.io/zone")
    assert [column.values[code] if code >= 0 else None for code in column.codes] == [
        (snapshot.nodes[row].labels).get("topology.kubernetes.io/zone") for row in range(3)
    ]
    assert np.array_equal(column.build_mask(lambda value: value is None), ~column.present)


def test_nodes_in_place_of_others_keep_the_pods() -> None:
    before = Snapshot.from_objects([node("a"), node("b"), pod("p", on="a", requests={"cpu": "1"})])
    more = {"cpu": "8", "example.com/gpu": "2"}
    after = before.with_nodes([Node.from_json(node("a", labels={"x": "y"}, allocatable=more, unschedulable=True))])
    fresh = Snapshot.from_objects(
        [
            node("a", labels={"x": "y"}, allocatable=more, unschedulable=True),
            node("b"),
            pod("p", on="a", requests={"cpu": "1"}),
        ]
    )
    for name in ("cpu", "memory", "example.com/gpu"):
        assert (
            after.resource_row(after.allocatable, name).tolist() == fresh.resource_row(fresh.allocatable, name).tolist()
        )
        assert after.resource_row(after.requested, name).tolist() == fresh.resource_row(fresh.requested, name).tolist()
    assert after.unschedulable.tolist() == [True, False]
    assert after.label_column("x").values == fresh.label_column("x").values == ["y"]
    assert after.get_pod("default/p").node_name == "a"


def test_a_node_that_changes_zone_cannot_take_its_own_place() -> None:
    with pytest.raises(ValueError, match="Node a: is in another zone now"):
        Snapshot.from_objects([node("a")]).with_nodes([Node.from_json(node("a", labels={ZONE: "z"}))])


def test_what_follows_from_nodes_and_figures_is_kept_until_one_of_them_changes() -> None:
    def figures(percent: float) -> Watermarks:
        return Watermarks.from_json({"nodes": {"a": {"cpu": {"15m": percent}}}}, ["a"])

    raw = node("a", allocatable={"cpu": "2"})
    raw["status"]["capacity"] = {"cpu": "4"}
    snapshot = Snapshot.from_objects([raw])
    snapshot.watermarks = figures(60.0)
    assert capacity_percent(snapshot, "cpu", "15m") is capacity_percent(snapshot, "cpu", "15m")
    assert capacity_percent(snapshot, "cpu", "15m").tolist() == [30.0]
    other = snapshot.copy()
    other.watermarks = figures(20.0)
    assert capacity_percent(other, "cpu", "15m").tolist() == [10.0]
    assert capacity_percent(snapshot, "cpu", "15m").tolist() == [30.0]
    raw["status"]["allocatable"] = {"cpu": "1"}
    assert capacity_percent(snapshot.with_nodes([Node.from_json(raw)]), "cpu", "15m").tolist() == [15.0]
