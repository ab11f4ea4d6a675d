"""The page of where figures come from: filled by a preset, tested, saved, refused beside the field."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.models import Cluster
from kschedweb.watermarks import selectors, services
from kschedweb.watermarks.figures import FIGURES
from kschedweb.watermarks.models import WatermarkSource
from kschedweb.watermarks.presets import PRESETS
from tests.clusters.conftest import OddServer
from tests.support.html import elements, levels
from tests.watermarks.conftest import answer_queries, by_instance, vector

ClientAs = Callable[[str], Client]
PAGE = "/usage/source/?cluster=metered"
ACTIONS = "/usage/source/metered/"
GOOD: dict[str, Any] = {
    "cpu": by_instance(node_a=30, node_b=30, node_c=30),
    "pods": vector(({"namespace": "shop", "pod": "db-0"}, 0.25)),
}


def source_form(server: OddServer, **changes: str) -> dict[str, str]:
    numbers = {"interval": "60", "keep_hours": "24", "keep_days": "7", "keep_long_days": "90"}
    source_fields = {"kind": "prometheus", "address": server.url, "authentication": "none", "node_label": "instance"}
    queries = {"node_cpu_15m": "cpu", "workload_cpu_15m": "pods"}
    return {**source_fields, "unit": "capacity-percent", **numbers, **queries, **changes}


def page_words(response: Any) -> str:
    text = re.sub(r"<(script|style).*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def error_beside(response: Any, field: str) -> str:
    """The error shown beside one field."""
    match = re.search(rf'<p class="field-error" id="id_{field}-error">(.*?)</p>', response.content.decode(), re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", match[1])).split()) if match else ""


def test_a_cluster_without_a_source_offers_the_first_preset(cluster: Cluster, client_as: ClientAs) -> None:
    page = client_as("admin").get(PAGE)
    assert page.status_code == 200
    assert page.context["fresh"].updated is None
    assert html.escape(PRESETS["node-exporter"].queries["node/cpu/15m"]) in page.content.decode()


def test_a_viewer_reads_how_it_goes_and_sees_no_form(cluster: Cluster, client_as: ClientAs) -> None:
    form = f"form[action={ACTIONS}change/] input[name=address]"
    assert not elements(client_as("viewer").get(PAGE), form)
    assert elements(client_as("admin").get(PAGE), form)
    for path in ("change/", "run/"):
        assert client_as("viewer").post(ACTIONS + path).status_code == 403
    assert client_as("editor").post(ACTIONS + "change/").status_code == 403


def test_a_preset_fills_the_queries_and_keeps_what_was_typed(
    cluster: Cluster, odd_server: OddServer, client_as: ClientAs
) -> None:
    page = client_as("admin").post(ACTIONS + "change/", source_form(odd_server, do="recording-rules", interval="300"))
    text = page.content.decode()
    assert page.status_code == 200
    assert html.escape(PRESETS["recording-rules"].queries["node/memory/1d_max"]) in text
    assert odd_server.url in text
    assert 'value="300"' in text
    assert '<option value="capacity-ratio" selected>' in text
    assert not WatermarkSource.objects.exists()


def test_a_test_shows_beside_each_query_what_it_found(
    cluster: Cluster, odd_server: OddServer, client_as: ClientAs
) -> None:
    answer_queries(odd_server, GOOD)
    page = client_as("admin").post(ACTIONS + "change/", source_form(odd_server, do="test"))
    assert page.status_code == 200
    assert (page.context["test"].nodes, page.context["test"].workloads) == (3, 1)
    text = page_words(page)
    assert (
        "3 series, 3 about nodes of this cluster, looking like percent. As stored: node-a 60.0 %, node-b 30.0 %" in text
    )
    assert "1 series, 1 about pods of this cluster. As stored: shop/StatefulSet/db 0.25 cores." in text
    assert not WatermarkSource.objects.exists()


def test_what_is_wrong_stands_beside_its_field(cluster: Cluster, odd_server: OddServer, client_as: ClientAs) -> None:
    admin = client_as("admin")

    def post_form(do: str = "save", **changes: str) -> Any:
        page = admin.post(ACTIONS + "change/", source_form(odd_server, do=do, **changes))
        assert page.status_code == 400
        assert not WatermarkSource.objects.exists()
        return page

    bad = {"status": "error", "errorType": "bad_data", "error": "1:4: parse error: <b>unclosed</b> (left"}
    answer_queries(odd_server, GOOD | {"cpu": bad})
    for do in ("save", "test"):
        page = post_form(do)
        assert (
            error_beside(page, "node_cpu_15m") == "Prometheus says: 1:4: parse error: <b>unclosed</b> (left (bad_data)"
        )
        assert error_beside(page, "workload_cpu_15m") == ""
    answer_queries(odd_server, GOOD | {"cpu": by_instance(node_a=1e12, node_b=2e12)})
    assert "choose the unit that fits" in error_beside(post_form(), "node_cpu_15m")
    answer_queries(odd_server, GOOD | {"cpu": by_instance(node_a="NaN")})
    assert error_beside(post_form(), "node_cpu_15m") == "All values are NaN, infinite or negative."
    answer_queries(odd_server, GOOD)
    assert error_beside(post_form(node_label="host"), "node_label").startswith("No series has the label host")
    assert (
        error_beside(post_form(address="http://127.0.0.1:1"), "address")
        == "Prometheus cannot be reached at its address."
    )
    assert "not among the addresses" in error_beside(post_form(address="https://10.1.2.3"), "address")
    assert error_beside(post_form(address=""), "address") == "The address of Prometheus is needed."
    assert "not a PEM certificate" in error_beside(post_form(ca="no certificate"), "ca")
    assert "is needed" in error_beside(post_form(authentication="bearer"), "token")
    assert "is needed" in error_beside(post_form(authentication="basic", username="me"), "password")
    assert error_beside(post_form(interval="1"), "interval")
    odd_server.answer = lambda request: (401, {}, b"")
    assert "does not accept the credentials" in error_beside(post_form(), "authentication")


@pytest.mark.usefixtures("encryption_key")
def test_a_secret_is_not_sent_back(cluster: Cluster, odd_server: OddServer, client_as: ClientAs) -> None:
    answer_queries(odd_server, GOOD)
    form_data = source_form(odd_server, do="test", authentication="bearer", token="hunter2-token")
    page = client_as("admin").post(ACTIONS + "change/", form_data)
    assert page.status_code == 200
    assert "hunter2" not in page.content.decode()
    assert client_as("admin").post(ACTIONS + "change/", form_data | {"do": "save"}).status_code == 302
    assert "hunter2" not in client_as("admin").get(PAGE).content.decode()


def test_saved_settings_are_collected_and_the_page_says_how_it_went(
    cluster: Cluster, odd_server: OddServer, client_as: ClientAs
) -> None:
    answer_queries(odd_server, GOOD)
    admin = client_as("admin")
    saved_page = admin.post(ACTIONS + "change/", source_form(odd_server, do="save"), follow=True)
    assert levels(saved_page) == ["success"]
    source = services.run_claim(cluster_id=cluster.pk, now=1_700_000_040)
    assert source is not None
    services.run_collection(source=source, now=1_700_000_040)
    fresh = admin.get(PAGE).context["fresh"]
    assert (fresh.nodes, fresh.workloads, fresh.updated.timestamp()) == (3, 1, 1_700_000_040)
    answer_queries(odd_server, {"pods": GOOD["pods"]})
    source = services.run_claim(cluster_id=cluster.pk, now=1_700_000_100)
    assert source is not None
    services.run_collection(source=source, now=1_700_000_100)
    page = client_as("viewer").get(PAGE)
    text = page_words(page)
    assert "was incomplete: Node CPU, average of 15 minutes: The query gives nothing" in text
    assert "Missing values keep their last good value, with its age." in text
    [failed_row] = [row for row in page.context["rows"] if row["error"]]
    assert f"Not kept {failed_row['error']}" in text
    assert page.context["fresh"].stale


def test_a_failing_source_is_saved_when_the_box_says_so(
    cluster: Cluster, odd_server: OddServer, client_as: ClientAs
) -> None:
    odd_server.answer = lambda request: (503, {}, b"")
    response = client_as("admin").post(ACTIONS + "change/", source_form(odd_server, do="save", force="on"))
    assert response.status_code == 302
    assert selectors.source_get(cluster).queries["node/cpu/15m"] == "cpu"


def test_collecting_can_be_asked_for_by_who_may_edit(
    cluster: Cluster, odd_server: OddServer, client_as: ClientAs
) -> None:
    answer_queries(odd_server, GOOD)
    client_as("admin").post(ACTIONS + "change/", source_form(odd_server, do="save"))
    page = client_as("editor").post(ACTIONS + "run/", follow=True)
    assert levels(page) == ["info"]
    assert AuditEntry.objects.filter(verb="watermarks.run-asked").count() == 1


def test_a_kind_none_needs_nothing_else(cluster: Cluster, odd_server: OddServer, client_as: ClientAs) -> None:
    form_data = source_form(odd_server, do="save", kind="none", address="") | {figure.field: "" for figure in FIGURES}
    assert client_as("admin").post(ACTIONS + "change/", form_data).status_code == 302
    assert selectors.source_get(cluster).kind == "none"
    assert client_as("admin").post(ACTIONS.replace("metered", "missing") + "change/", form_data).status_code == 404
