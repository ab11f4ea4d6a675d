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
from tests.support.html import html_of
from tests.watermarks.conftest import node, stored

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    ClientAs = Callable[[str], Client]
    ApiAs = Callable[[str], APIClient]

pytestmark = pytest.mark.django_db

PAGE, REST = "/clusters/metered/annotations/", "/api/v1/clusters/metered/annotations/"
FORM = {"time_zone": "UTC", "rate": "10", "renew": "300"}


def in_the_wrong_zone() -> list[dict[str, Any]]:
    """Nodes that an annotator in UTC wrote to a moment ago."""
    now = timezone.now().timestamp()
    nodes = [node(f"node-{number}") for number in range(30)]
    for raw in nodes:
        texts = {metric: crane.write(0.3, now - 30, ZoneInfo("UTC")) for metric in crane.METRICS}
        raw["metadata"]["annotations"] = texts
    return nodes


def test_a_cluster_without_annotations_teaches_what_they_are(client_as: ClientAs, cluster: Cluster) -> None:
    page = html_of(client_as("viewer").get(PAGE))
    assert "metered had no watermark annotations when it was read" in page
    assert "0 of 3 nodes and 0 workloads" in page
    assert '<form class="form"' not in page


def test_findings_are_on_the_page_and_over_rest(client_as: ClientAs, api_as: ApiAs) -> None:
    stored(objects=in_the_wrong_zone())
    page = html_of(client_as("viewer").get(PAGE))
    assert "1 finding about the annotations of metered" in page
    assert "Written in UTC, it seems: read as Asia/Shanghai, the stamps of 30 nodes are old by 8 h in step." in page
    assert "The first 20 are shown" in page
    answer = api_as("viewer").get(f"{REST}findings/").json()
    assert (answer["nodes"], answer["crane"], answer["time_zone"]) == (30, 30, "Asia/Shanghai")
    [finding] = answer["findings"]
    assert (finding["code"], finding["level"], finding["form"]) == ("zone-behind", "warning", "crane")
    assert (finding["count"], len(finding["places"])) == (30, 30)


def test_the_page_of_the_source_says_that_there_are_findings(client_as: ClientAs) -> None:
    stored(objects=in_the_wrong_zone())
    page = html_of(client_as("viewer").get("/clusters/metered/figures/"))
    assert "1 finding</span> about those in the cluster" in page
    assert f'href="{PAGE}"' in page


def test_the_time_zone_is_set_and_the_texts_are_read_in_it(client_as: ClientAs, api_as: ApiAs) -> None:
    stored(objects=in_the_wrong_zone())
    answer = client_as("admin").post(PAGE, FORM, follow=True)
    page = html_of(answer)
    assert "The annotations of metered look right" in page
    assert "Saved. Nothing is written." in page
    assert api_as("viewer").get(f"{REST}findings/").json()["findings"] == []


def test_what_is_refused_stands_beside_its_field(client_as: ClientAs, api_as: ApiAs, cluster: Cluster) -> None:
    answer = client_as("admin").post(PAGE, {**FORM, "own": "on", "rate": "0", "time_zone": "Mars"})
    page = html_of(answer)
    assert answer.status_code == 400
    assert 'id="id_rate-error"' in page
    assert 'id="id_time_zone-error"' in page
    answer = client_as("admin").post(PAGE, {**FORM, "own": "on"})
    assert 'id="id_own-error"' in html_of(answer)
    assert "is not connected: there is nothing to write to" in html_of(answer)
    rest = api_as("admin").patch(REST, {"own": True})
    assert (rest.status_code, rest.json()["errors"][0]["path"]) == (409, "own")
    rest = api_as("admin").patch(REST, {"renew": 5, "time_zone": "Mars"})
    assert rest.status_code == 400
    assert not Annotating.objects.exists()


def test_only_an_admin_changes_anything(client_as: ClientAs, api_as: ApiAs, cluster: Cluster) -> None:
    for role in ("viewer", "editor", "approver"):
        assert client_as(role).post(PAGE, FORM).status_code == 403
        assert client_as(role).post(f"{PAGE}write/").status_code == 403
        assert api_as(role).patch(REST, {"time_zone": "UTC"}).status_code == 403
        assert api_as(role).post(f"{REST}write/").status_code == 403
    assert api_as("admin").patch(REST, {"time_zone": "UTC"}).json()["time_zone"] == "UTC"
    assert api_as("admin").post(f"{REST}write/").status_code == 409


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
    page = html_of(client_as("admin").get(PAGE))
    assert "Node &lt;b&gt;a&lt;/b&gt;" in page
    assert "The credentials may not patch deployments: nothing is written there." in page
    assert "Write now" in page
    assert "Annotations were written after the cluster was read: refresh it" in page
    assert api_as("viewer").get(REST).json()["outcome"] == outcome


def test_a_cluster_that_was_never_read_says_so(client_as: ClientAs, api_as: ApiAs) -> None:
    Cluster.objects.create(name="metered", source="import")
    assert "Nothing to look at yet" in html_of(client_as("viewer").get(PAGE))
    assert api_as("viewer").get(f"{REST}findings/").status_code == 404
    assert api_as("viewer").get(REST).json()["outcome"] is None
