"""REST: the same figures as the pages show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from kschedweb.clusters.models import Cluster
from tests.watermarks.conftest import store_cluster

BASE = "/api/v1/clusters/metered/watermarks"


@pytest.fixture
def api(api_as: Callable[[str], APIClient]) -> APIClient:
    return api_as("viewer")


def get_usage(api: APIClient, path: str, **query: str) -> Any:
    response = api.get(f"{BASE}/{path}/", query)
    assert response.status_code == 200, response.content
    return response.json()


def test_skew_is_told_with_its_unit_time_and_origin(api: APIClient, measured_cluster: Cluster) -> None:
    skew = get_usage(api, "skew", range="1h")
    points = skew.pop("points")
    assert skew == {
        "resource": "cpu", "statistic": "1h", "unit": "%", "start": "2026-11-21T09:00:00Z",
        "end": "2026-11-21T10:00:00Z", "origins": ["prometheus"], "resolution": 300,
    }  # fmt: skip
    assert len(points) == 12
    assert points[-1] == {
        "time": "2026-11-21T10:00:00Z", "skew": 41.0, "standard_deviation": 17.6, "coefficient_of_variation": 35.7,
        "mean": 49.3, "hottest_node": "node-b", "hottest": 66.0, "coldest_node": "node-c", "coldest": 25.0, "nodes": 3,
    }  # fmt: skip


def test_history_comes_a_page_of_nodes_at_a_time(api: APIClient, measured_cluster: Cluster) -> None:
    first = get_usage(api, "history", limit="2")
    assert [row["name"] for row in first["results"]] == ["node-a", "node-b"]
    assert len(first["times"]) == len(first["results"][0]["values"]) == 24
    assert first["results"][0]["values"][0] == 80.0
    assert first["previous"] is None
    second = api.get(first["next"]).json()
    assert [row["name"] for row in second["results"]] == ["node-c"]
    assert second["next"] is None
    assert api.get(second["previous"]).json()["results"] == first["results"]
    assert [row["name"] for row in get_usage(api, "history", order="name", search="B")["results"]] == ["node-b"]


def test_the_distribution_counts_every_node_once(api: APIClient, measured_cluster: Cluster) -> None:
    distribution = get_usage(api, "distribution", at="2026-11-21T10:00:00Z")
    assert (distribution["time"], distribution["nodes"]) == ("2026-11-21T10:00:00Z", 3)
    assert {(bar["low"], bar["high"]) for bar in distribution["bars"] if bar["nodes"]} == {(25, 30), (55, 60), (65, 70)}
    assert distribution["quantiles"]["50"] == 57
    assert distribution["mean"] == pytest.approx(49.333, abs=0.001)


def test_requests_and_use_of_nodes_and_workloads_are_lists_with_pages(
    api: APIClient, measured_cluster: Cluster
) -> None:
    nodes = get_usage(api, "nodes", ordering="name", limit="1")
    assert nodes["results"] == [
        {
            "name": "node-a", "zone": "", "pods": 7, "allocatable": 2000.0, "requested": 3500.0, "used": 1140.0,
            "ratio": 3.0702, "unused": 2360.0, "updated": "2026-11-21T10:00:00Z",
        }
    ]  # fmt: skip
    assert api.get(nodes["next"]).json()["results"][0]["name"] == "node-b"
    workloads = get_usage(api, "workloads", ordering="-ratio")["results"]
    assert [(row["name"], row["ratio"]) for row in workloads[:2]] == [
        ("shop/Deployment/web", 4.0),
        ("shop/StatefulSet/db", 0.6667),
    ]
    assert {(row["used"], row["updated"]) for row in workloads[2:]} == {(None, None)}


@pytest.mark.parametrize("path", ["skew", "history", "distribution", "nodes", "workloads"])
def test_without_figures_the_answer_is_empty_and_not_an_error(api: APIClient, path: str, clock: float) -> None:
    store_cluster()
    assert api.get(f"{BASE}/{path}/").status_code == 200
    assert api.get(f"/api/v1/clusters/nowhere/watermarks/{path}/").status_code == 404


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("skew", {"resource": "disk"}, "resource"),
        ("history", {"statistic": "2h"}, "statistic"),
        ("distribution", {"at": "noon"}, "at"),
        ("skew", {"from": "2026-11-21T10:00", "to": "2026-11-21T09:00"}, "to"),
        ("history", {"limit": "0"}, "limit"),
        ("nodes", {"ordering": "--name"}, "ordering"),
        ("workloads", {"statistic": "5m"}, "statistic"),
    ],
)
def test_a_wrong_question_names_its_field(
    api: APIClient, measured_cluster: Cluster, path: str, query: dict[str, str], field: str
) -> None:
    response = api.get(f"{BASE}/{path}/", query)
    assert response.status_code == 400
    assert [error["path"] for error in response.json()["errors"]] == [field]


@pytest.mark.parametrize("cursor", ["x", "W251bGwsW11d", "9" * 500])
def test_a_cursor_that_was_never_given_out_is_404(api: APIClient, measured_cluster: Cluster, cursor: str) -> None:
    assert api.get(f"{BASE}/nodes/", {"cursor": cursor}).status_code == 404
