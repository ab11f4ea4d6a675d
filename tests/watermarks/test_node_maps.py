"""Node maps of a snapshot: what nodes have, and what they would have after moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.http import QueryDict

from kschedweb.clusters.models import NodeRow, PodRow
from kschedweb.watermarks.node_maps import PodMove, map_moves, map_snapshot
from kschedweb.web.nodemap.grouping import unpack_column
from kschedweb.web.nodemap.nodemap import MapChoice
from tests.dashboard.conftest import demo, demo_objects, policy, revision, store_snapshot, stored_demo

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from kschedweb.clusters.models import Snapshot
    from kschedweb.web.nodemap.nodemap import MapSide

__all__ = ["demo", "demo_objects", "policy", "revision", "store_snapshot", "stored_demo"]

pytestmark = pytest.mark.django_db


def read_layer(side: MapSide, key: str) -> dict[str, int]:
    assert side.inline is not None
    return dict(zip(side.inline["names"], unpack_column(side.inline["frames"][key]).tolist(), strict=True))


def test_a_map_of_a_snapshot_has_every_node_and_groups_by_zone_pool_and_type(demo: Snapshot) -> None:
    choice = MapChoice.from_address(QueryDict("cluster=demo&show=memory&by=pool&group=x"))
    node_map = map_snapshot(demo, choice)
    assert node_map is not None
    assert (node_map.show.key, node_map.by, node_map.fields) == ("memory", "pool", {"cluster": "demo"})
    assert {"zone", "instance type"} <= set(node_map.groupings)
    shares = {node.name: node.memory_share / 10 for node in NodeRow.objects.filter(snapshot=demo)}
    assert read_layer(node_map.sides[0], "memory") == {
        name: pytest.approx(share, abs=0.5) for name, share in shares.items()
    }
    assert (
        node_map.sides[0].nodes + "general-a-1" + node_map.sides[0].nodes_suffix == "/nodes/general-a-1/?cluster=demo"
    )


def test_moves_change_the_two_ends_alone(demo: Snapshot) -> None:
    pod = PodRow.objects.filter(snapshot=demo, node="general-a-1", cpu_request__gt=200).first()
    assert pod is not None
    move = PodMove(f"{pod.namespace}/{pod.name}", "general-a-1", "general-b-1")
    node_map = map_moves(demo, [move], MapChoice(), cordoned={"general-a-2"})
    assert node_map is not None
    assert node_map.has_changes
    before, after = node_map.sides
    pods = read_layer(before, "pods"), read_layer(after, "pods")
    changed = {name: pods[1][name] - number for name, number in pods[0].items() if pods[1][name] != number}
    assert changed == {"general-a-1": -1, "general-b-1": 1}
    rows = {node.name: node for node in NodeRow.objects.filter(snapshot=demo)}
    for name, sign in (("general-a-1", -1), ("general-b-1", 1)):
        share = 100 * (rows[name].cpu_requested + sign * pod.cpu_request) / rows[name].cpu_allocatable
        assert read_layer(after, "cpu")[name] == pytest.approx(share, abs=0.6)
    states = read_layer(after, "state")
    assert (read_layer(before, "state")["general-a-2"], states["general-a-2"]) == (1, 3)


def test_the_map_of_the_list_comes_with_the_page(client_as: Callable[[str], Client], demo: Snapshot) -> None:
    page = client_as("viewer").get("/nodes/?cluster=demo&show=memory")
    side = page.context["map"].sides[0]
    assert side.inline["frames"].keys() == {"memory", "pods", "state"}
    rest = client_as("viewer").get("/api/v1/clusters/demo/map/").json()
    assert {name: side.inline[name] for name in rest} == rest
    assert side.inline["frames"]["memory"] == client_as("viewer").get(f"{side.frames}?show=memory").json()
    # Its table of nodes is filled when it is opened; that of a group stands in the page.
    assert page.context["map"].tables[0]["nodes"] == []
    zone = NodeRow.objects.filter(snapshot=demo).values_list("zone", flat=True)[0]
    group = client_as("viewer").get(f"/nodes/?cluster=demo&by=zone&group={zone}").context["map"].tables[0]
    assert len(group["nodes"]) == NodeRow.objects.filter(snapshot=demo, zone=zone).count()
