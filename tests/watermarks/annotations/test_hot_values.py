"""Hot values from the events that schedulers leave."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.engine.state.watermarks.crane import Binding
from kschedweb.watermarks.annotations.hot_values import hot_of, hot_values
from tests.clusters.conftest import OddServer, odd_server

__all__ = ["odd_server"]

NOW = 1_795_262_400  # 2026-11-21T12:00:00Z


def bindings(node: str, *ages: int) -> list[Binding]:
    return [Binding("shop", f"p{age}", node, NOW - age) for age in ages]


@pytest.mark.parametrize(
    ("ages", "hot"),
    [
        ((10,), 0),
        ((10, 20), 1),  # two in one minute
        ((10, 70), 0),
        ((70, 80, 90, 100, 110), 1),  # five in five minutes
        ((10, 20, 30, 100, 110), 2),  # both, with division that cuts
        ((10, 20, 30, 40, 50, 59), 4),
        ((300, 301, 302, 303, 304), 0),
    ],
)
def test_a_node_is_as_hot_as_pods_came_to_it_lately(ages: tuple[int, ...], hot: int) -> None:
    assert hot_of(bindings("a", *ages), NOW) == ({"a": hot} if hot else {})


def test_only_the_newest_bindings_of_all_nodes_are_known() -> None:
    early, late = bindings("early", *range(59, 49, -1)), bindings("late", *[1] * 1024)
    assert set(hot_of([*late, *early], NOW)) == {"late"}


def event(message: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "e"}, "message": message, "eventTime": "2026-11-21T11:59:50.123456Z", **fields}


def test_events_are_read_from_the_cluster_and_odd_ones_left_out(odd_server: OddServer) -> None:
    message = "Successfully assigned shop/p to node-a"
    items: list[Any] = [
        event(message),
        event(message, eventTime=None, lastTimestamp="2026-11-21T11:59:40Z", count=3),
        event("Successfully assigned shop/p to node-b", eventTime="soon"),
        event("Something else happened"),
        event(message) | {"message": 3},
        None,
        {},
    ]
    odd_server.json(lambda request: (200, {"metadata": {"resourceVersion": "1"}, "items": items}))
    with Client.open(Secret(server=odd_server.url, token="x")) as client:
        assert hot_values(client, NOW) == {"node-a": 1}
    assert "fieldSelector=reason%3DScheduled%2Ctype%3DNormal" in odd_server.requests[0].path
