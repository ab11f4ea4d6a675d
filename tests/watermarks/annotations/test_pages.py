"""The page and the REST resources of a cluster's annotations, as each role sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from kschedweb.clusters.models import Cluster
from kschedweb.engine.state.watermarks import crane
from kschedweb.watermarks.models import Annotating
from tests.support.html import elements, html_of, levels
from tests.watermarks.conftest import node, store_cluster

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    ClientAs = Callable[[str], Client]
    ApiAs = Callable[[str], APIClient]

pytestmark = pytest.mark.django_db

PAGE, ACTIONS = "/usage/annotations/?cluster=metered", "/usage/annotations/metered/"
API_ADDRESS = "/api/v1/clusters/metered/annotations/"
FORM = {"time_zone": "UTC", "rate": "10", "renew": "300"}


def in_the_wrong_zone() -> list[dict[str, Any]]:
    """Nodes that an annotator in UTC wrote to a moment ago."""
    now = timezone.now().timestamp()
    nodes = [node(f"node-{number}") for number in range(30)]
    for raw in nodes:
        texts = {metric: crane.write_usage(0.3, now - 30, ZoneInfo("UTC")) for metric in crane.METRICS}
        raw["metadata"]["annotations"] = texts
    return nodes


def test_a_cluster_without_annotations_teaches_what_they_are(client_as: ClientAs, cluster: Cluster) -> None:
    page = client_as("viewer").get(PAGE)
    lint = page.context["lint"]
    assert (lint.own, lint.crane, lint.nodes, lint.workloads, lint.findings) == (0, 0, 3, 0, ())
    assert "0 of 3 nodes and 0 workloads" in html_of(page)
    assert not elements(page, "form.form")
    assert elements(client_as("admin").get(PAGE), "form.form")


def test_findings_are_on_the_page_and_over_rest(client_as: ClientAs, api_as: ApiAs) -> None:
    store_cluster(objects=in_the_wrong_zone())
    page = client_as("viewer").get(PAGE)
    [lint_finding] = page.context["lint"].findings
    assert lint_finding.message in html_of(page)
    opening = "Written in UTC, it seems: read as Asia/Shanghai, the stamps of 30 nodes are old by 8 h in step."
    assert lint_finding.message.startswith(opening)
    assert len(elements(page, "td details li")) == 20
    answer = api_as("viewer").get(f"{API_ADDRESS}findings/").json()
    assert (answer["nodes"], answer["crane"], answer["time_zone"]) == (30, 30, "Asia/Shanghai")
    [finding] = answer["findings"]
    assert (finding["code"], finding["level"], finding["form"]) == ("zone-behind", "warning", "crane")
    assert (finding["count"], len(finding["places"])) == (30, 30)


def test_the_page_of_the_source_says_that_there_are_findings(client_as: ClientAs) -> None:
    store_cluster(objects=in_the_wrong_zone())
    page = client_as("viewer").get("/usage/source/?cluster=metered")
    assert "1 finding" in [element.text for element in elements(page, ".facts .badge.amber")]
    assert elements(page, f".facts a[href={PAGE}]")


def test_the_time_zone_is_set_and_the_texts_are_read_in_it(client_as: ClientAs, api_as: ApiAs) -> None:
    store_cluster(objects=in_the_wrong_zone())
    answer = client_as("admin").post(ACTIONS + "change/", FORM, follow=True)
    assert levels(answer) == ["success"]
    assert not answer.context["annotating"].writes
    assert (answer.context["lint"].crane, answer.context["lint"].findings) == (30, ())
    assert api_as("viewer").get(f"{API_ADDRESS}findings/").json()["findings"] == []


def test_what_is_refused_stands_beside_its_field(client_as: ClientAs, api_as: ApiAs, cluster: Cluster) -> None:
    answer = client_as("admin").post(ACTIONS + "change/", {**FORM, "own": "on", "rate": "0", "time_zone": "Mars"})
    assert answer.status_code == 400
    assert {element["id"] for element in elements(answer, ".field-error")} == {"id_rate-error", "id_time_zone-error"}
    answer = client_as("admin").post(ACTIONS + "change/", {**FORM, "own": "on"})
    [error] = elements(answer, "#id_own-error")
    assert "is not connected: there is nothing to write to" in error.text
    api_response = api_as("admin").patch(API_ADDRESS, {"own": True})
    assert (api_response.status_code, api_response.json()["errors"][0]["path"]) == (409, "own")
    api_response = api_as("admin").patch(API_ADDRESS, {"renew": 5, "time_zone": "Mars"})
    assert api_response.status_code == 400
    assert not Annotating.objects.exists()


def test_only_an_admin_changes_anything(client_as: ClientAs, api_as: ApiAs, cluster: Cluster) -> None:
    for role in ("viewer", "editor", "approver"):
        assert client_as(role).post(ACTIONS + "change/", FORM).status_code == 403
        assert client_as(role).post(f"{ACTIONS}write/").status_code == 403
        assert api_as(role).patch(API_ADDRESS, {"time_zone": "UTC"}).status_code == 403
        assert api_as(role).post(f"{API_ADDRESS}write/").status_code == 403
    assert api_as("admin").patch(API_ADDRESS, {"time_zone": "UTC"}).json()["time_zone"] == "UTC"
    assert api_as("admin").post(f"{API_ADDRESS}write/").status_code == 409


def test_the_last_run_is_shown_with_what_failed(client_as: ClientAs, api_as: ApiAs, cluster: Cluster) -> None:
    outcome = {
        "patched": 1234,
        "unchanged": 0,
        "gone": 0,
        "left": 0,
        "failures": 1,
        "failed": [{"object": "Node <b>a</b>", "reason": "The credentials may not change it (403)."}],
    }
    Annotating.objects.create(
        cluster=cluster,
        own=True,
        ran_at=timezone.now(),
        outcome=outcome,
        permissions=[{"resource": "nodes", "allowed": True}, {"resource": "deployments", "allowed": False}],
    )
    page = client_as("admin").get(PAGE)
    assert "Node &lt;b&gt;a&lt;/b&gt;" in html_of(page)
    assert page.context["missing"] == ["deployments"]
    assert "The credentials are not allowed to patch deployments: nothing is written there." in html_of(page)
    assert elements(page, f"form[action={ACTIONS}write/]")
    assert page.context["older"]
    assert elements(page, "#main form[action=/clusters/metered/refresh/]")
    assert api_as("viewer").get(API_ADDRESS).json()["outcome"] == outcome


def test_a_cluster_that_was_never_read_says_so(client_as: ClientAs, api_as: ApiAs) -> None:
    Cluster.objects.create(name="metered", source="import")
    page = client_as("viewer").get(PAGE)
    assert page.context["lint"] is None
    assert elements(page, ".empty a[href=/clusters/metered/]")
    assert api_as("viewer").get(f"{API_ADDRESS}findings/").status_code == 404
    assert api_as("viewer").get(API_ADDRESS).json()["outcome"] is None
