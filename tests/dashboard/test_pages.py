"""Overview, nodes, pods and search as a person gets them, without JavaScript."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.dashboard import selectors
from kschedweb.decisions import services
from kschedweb.policies.models import Revision
from tests.decisions.conftest import HEAD, refs
from tests.support.html import elements, text


@pytest.fixture
def viewer_client(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def csv_rows(response: Any) -> list[dict[str, str]]:
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(StringIO(b"".join(response.streaming_content).decode())))


@pytest.mark.parametrize("address", ["/", "/nodes/", "/pods/"])
def test_without_a_cluster_a_page_teaches_how_to_start(
    client_as: Callable[[str], Client], no_cluster: None, address: str
) -> None:
    assert elements(client_as("viewer").get(address), ".empty a[href=/clusters/connect/]")


@pytest.mark.parametrize("address", ["/", "/nodes/", "/pods/"])
def test_an_unknown_cluster_is_said_and_not_replaced_by_another(viewer_client: Client, address: str) -> None:
    page = viewer_client.get(address, {"cluster": "nowhere"})
    assert page.status_code == 404
    assert page.context["scope"].cluster is None
    assert "There is no cluster nowhere." in page.context["detail"]


def test_the_overview_counts_what_is_there(viewer_client: Client, demo: Snapshot) -> None:
    page = viewer_client.get("/")
    pending = PodRow.objects.filter(snapshot=demo, pending=True).count()
    assert f"{pending} of {PodRow.objects.filter(snapshot=demo).count()} pods are pending" in text(page)
    assert any("Insufficient cpu" in str(reason) for reason in page.context["reasons"])


def test_headroom_is_what_the_open_nodes_have_left(demo: Snapshot) -> None:
    for zone in selectors.compute_headroom(demo):
        nodes = NodeRow.objects.filter(snapshot=demo, zone=zone.zone, unschedulable=False, ready=True)
        assert zone.nodes == len(nodes)
        assert zone.cpu.free == sum(node.cpu_allocatable - node.cpu_requested for node in nodes)
        assert zone.memory.free == sum(node.memory_allocatable - node.memory_requested for node in nodes)


def test_nodes_filter_sort_and_page_on_the_server(viewer_client: Client, demo: Snapshot) -> None:
    response = viewer_client.get("/nodes/", {"zone": "eu-west-1a", "ordering": "-cpu", "tainted": "false"})
    rows = list(response.context["page"])
    assert {node.zone for node in rows} == {"eu-west-1a"}
    assert not any(node.taints for node in rows)
    assert [node.cpu_share for node in rows] == sorted((node.cpu_share for node in rows), reverse=True)
    assert len(viewer_client.get("/nodes/", {"page": 2}).context["page"]) == NodeRow.objects.count() - 50


def test_an_export_holds_the_whole_filter(viewer_client: Client, demo: Snapshot) -> None:
    expected_count = NodeRow.objects.filter(snapshot=demo, zone="eu-west-1b").count()
    assert len(csv_rows(viewer_client.get("/nodes/", {"zone": "eu-west-1b", "format": "csv"}))) == expected_count
    assert viewer_client.get("/nodes/", {"zone": "eu-west-1b", "format": "json"}).json()["count"] == expected_count


@pytest.mark.parametrize("show", ["cpu", "memory", "pods", "state"])
def test_the_node_map_says_its_sentence_and_tells_of_every_node(viewer_client: Client, show: str) -> None:
    response = viewer_client.get("/nodes/", {"show": show})
    (table,), (side,) = response.context["map"].tables, response.context["map"].sides
    assert table["summary"] in text(response)
    assert f"{NodeRow.objects.count()} nodes" in table["summary"]
    assert sum(row[1] for row in table["groups"]) == len(side.inline["names"]) == NodeRow.objects.count()


def test_pending_pods_come_first_with_the_schedulers_message(
    viewer_client: Client, demo: Snapshot, revision: Revision
) -> None:
    response = viewer_client.get("/pods/", {"pending": "true"})
    page = text(response)
    keys = [f"{item.row.namespace}/{item.row.name}" for item in response.context["rows"]]
    for key, outcome in services.summarize_pods(demo, revision, refs(demo, keys)).items():
        message = outcome.message or f"would go to {outcome.node}"
        if any(item.outcome for item in response.context["rows"] if f"{item.row.namespace}/{item.row.name}" == key):
            assert message in page
    first = viewer_client.get("/pods/").context["page"].object_list[0]
    assert first.pending


def test_a_message_there_was_no_time_for_comes_as_a_fragment(viewer_client: Client) -> None:
    fragment = viewer_client.get("/pods/analytics/cube-builder/message/", {"cluster": "demo"})
    assert fragment.context["item"].outcome.message in text(fragment)
    assert not elements(fragment, "html")
    assert viewer_client.get("/pods/analytics/nobody/message/", {"cluster": "demo"}).status_code == 404


def test_the_clusters_own_message_is_shown_where_it_differs(demo: Snapshot, revision: Revision) -> None:
    row = PodRow.objects.get(snapshot=demo, name="cube-builder")
    outcome = services.summarize_pods(demo, revision, refs(demo, ["analytics/cube-builder"]))["analytics/cube-builder"]
    row.message = f"{outcome.message} preemption: 0/60 nodes are available"
    assert selectors.ListedPod(row, outcome).recorded == ""
    row.message = "0/59 nodes are available: something else."
    assert selectors.ListedPod(row, outcome).recorded == row.message


def test_pods_export_with_their_decision_and_no_formula(viewer_client: Client, demo: Snapshot) -> None:
    PodRow.objects.filter(snapshot=demo, name="cube-builder").update(owner="=cmd()")
    rows = {row["name"]: row for row in csv_rows(viewer_client.get("/pods/", {"format": "csv", "pending": "true"}))}
    assert rows["cube-builder"]["owner"] == "'=cmd()"
    assert "45 Insufficient cpu" in rows["cube-builder"]["decision"]
    assert rows["notebook"]["decision"] == "fits gpu-a-2"


def test_the_policy_of_the_address_decides_what_the_list_says(
    viewer_client: Client, policy: Callable[[str, str], Revision]
) -> None:
    policy(
        "other",
        f"{HEAD}profiles: [{{schedulerName: x}}]\n",
    )
    page = viewer_client.get("/pods/", {"policy": "other", "pending": "true"})
    outcomes = [item.outcome for item in page.context["rows"] if item.outcome]
    assert outcomes
    assert all(outcome.message for outcome in outcomes)
    assert "?policy=other" in text(page)


def test_search_finds_pages_pods_nodes_and_policies(viewer_client: Client) -> None:
    for words, address in (
        ("gpu", "/nodes/gpu-a-1/?cluster=demo"),
        ("ml/note", "/decision/demo/ml/notebook/"),
        ("defau", "/policies/default/"),
    ):
        results = viewer_client.get("/search/", {"q": words})
        assert any(element["href"].startswith(address) for element in elements(results, "#main a")), words
    fragment = viewer_client.get("/search/", {"q": "pods"}, headers={"HX-Request": "true"})
    assert "<html" not in text(fragment)
    assert "<script>" not in text(viewer_client.get("/search/", {"q": "<nothing>"}))


def test_the_theme_is_a_cookie_that_the_server_renders(viewer_client: Client) -> None:
    response = viewer_client.post("/theme/", {"theme": "dark", "next": "/nodes/?cluster=demo"})
    assert response["Location"] == "/nodes/?cluster=demo"
    assert 'data-theme="dark"' in text(viewer_client.get("/"))
    viewer_client.post("/theme/", {"theme": "<script>"})
    assert 'data-theme="dark"' in text(viewer_client.get("/"))


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_theme_form_leads_nowhere_else(viewer_client: Client, target: str) -> None:
    assert viewer_client.post("/theme/", {"theme": "dark", "next": target})["Location"] == "/"


def test_the_cluster_chosen_last_stays_chosen(
    viewer_client: Client, store_snapshot: Callable[..., Snapshot], demo_objects: list[dict[str, Any]]
) -> None:
    store_snapshot(demo_objects[:5], "another")
    viewer_client.get("/nodes/", {"cluster": "demo"})
    assert viewer_client.get("/nodes/").context["scope"].cluster.name == "demo"
    viewer_client.get("/clusters/another/")
    assert viewer_client.get("/nodes/").context["scope"].cluster.name == "another"


def test_pending_pods_are_blocks_by_cause_as_on_the_overview(client_as: Callable[..., Client], demo: Snapshot) -> None:
    """Each pod is one block; with a namespace there are its own alone."""

    def count_blocks(address: str) -> int:
        return len(elements(client_as("viewer").get(address), ".pod-block"))

    assert count_blocks("/pods/?cluster=demo&pending=true") == count_blocks("/?cluster=demo") > 20
    assert 0 < count_blocks("/pods/?cluster=demo&pending=true&namespace=ml") < 10
    assert count_blocks("/pods/?cluster=demo") == 0
