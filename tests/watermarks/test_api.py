"""The same over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import services
from kschedweb.watermarks.figures import BY_NAME
from kschedweb.watermarks.models import WatermarkSource
from tests.clusters.conftest import OddServer
from tests.watermarks.conftest import answer_queries, by_instance

ApiAs = Callable[[str], APIClient]
SOURCE = "/api/v1/clusters/metered/watermarks/source/"
GOOD = {"cpu": by_instance(node_a=30, node_b=30, node_c=30)}


def body(server: OddServer, **changes: Any) -> dict[str, Any]:
    return {"kind": "prometheus", "address": server.url, "queries": {"node/cpu/15m": "cpu"}, **changes}


def test_a_cluster_without_a_source_answers_with_none(cluster: Cluster, api_as: ApiAs) -> None:
    source = api_as("viewer").get(SOURCE).json()
    assert (source["kind"], source["report"], source["freshness"]["updated"]) == ("none", None, None)


def test_a_source_is_tested_set_run_and_read(cluster: Cluster, odd_server: OddServer, api_as: ApiAs) -> None:
    answer_queries(odd_server, GOOD)
    admin = api_as("admin")
    test_response = admin.post(SOURCE + "test/", body(odd_server))
    assert test_response.status_code == 200
    assert test_response.json()["queries"]["node/cpu/15m"]["examples"][0] == ["node-a", 60.0]
    assert not WatermarkSource.objects.exists()
    assert admin.put(SOURCE, body(odd_server, interval=120)).status_code == 200
    assert api_as("editor").post(SOURCE + "run/").status_code == 202
    source = services.run_claim(cluster_id=cluster.pk, now=1_700_000_040)
    assert source is not None
    services.run_collection(source=source, now=1_700_000_040)
    source_read = api_as("viewer").get(SOURCE).json()
    assert source_read["interval"] == 120
    assert source_read["changed_by"] == "admin"
    assert source_read["report"]["nodes"] == 3
    assert source_read["freshness"]["origin"] == "prometheus"
    assert source_read["freshness"]["nodes"] == 3
    assert source_read["error"] == ""


@pytest.mark.usefixtures("encryption_key")
def test_no_answer_holds_a_secret(cluster: Cluster, odd_server: OddServer, api_as: ApiAs) -> None:
    answer_queries(odd_server, GOOD)
    settings = body(odd_server, authentication="basic", username="scraper", password="hunter2")
    answer = api_as("admin").put(SOURCE, settings)
    assert answer.status_code == 200
    assert "hunter2" not in answer.content.decode()
    assert "scraper" not in answer.content.decode()


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"queries": {"node/cpu/15m": "bad"}}, "queries.node/cpu/15m", "Prometheus says: parse error (bad_data)"),
        ({"queries": {"node/disk/15m": "x"}}, "queries.node/disk/15m", "There is no such figure."),
        ({"address": "https://10.1.2.3"}, "address", "10.1.2.3 is not among the addresses"),
        ({"address": "http://127.0.0.1:1"}, "address", "Prometheus cannot be reached"),
        ({"ca": "nonsense"}, "ca", "This is not a PEM certificate"),
        ({"authentication": "bearer"}, "token", "The token is needed"),
        ({"interval": 1}, "interval", "Ensure this value is greater than or equal to 30."),
        ({"kind": "graphite"}, "kind", '"graphite" is not a valid choice.'),
        ({"node_label": "host"}, "node_label", "No series has the label host"),
    ],
)
def test_problems_name_the_path(
    cluster: Cluster, odd_server: OddServer, api_as: ApiAs, changes: dict[str, Any], path: str, message: str
) -> None:
    answer_queries(odd_server, GOOD | {"bad": {"status": "error", "errorType": "bad_data", "error": "parse error"}})
    answer = api_as("admin").put(SOURCE, body(odd_server, **changes))
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    messages = {item["path"]: item["message"] for item in answer.json()["errors"]}
    assert messages[path].startswith(message)
    assert not WatermarkSource.objects.exists()


def test_roles_hold(cluster: Cluster, odd_server: OddServer, api_as: ApiAs) -> None:
    for role in ("viewer", "editor", "approver"):
        assert api_as(role).put(SOURCE, body(odd_server)).status_code == 403
        assert api_as(role).post(SOURCE + "test/", body(odd_server)).status_code == 403
    assert api_as("viewer").post(SOURCE + "run/").status_code == 403
    assert api_as("editor").post(SOURCE + "run/").status_code == 409


def test_presets_cover_every_figure(db: None, api_as: ApiAs) -> None:
    presets = api_as("viewer").get("/api/v1/watermark-presets/").json()
    assert [preset["name"] for preset in presets] == ["node-exporter", "cadvisor", "recording-rules"]
    assert all(set(preset["queries"]) == set(BY_NAME) for preset in presets)
