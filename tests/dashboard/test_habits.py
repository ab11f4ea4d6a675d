"""The palette, the search of each kind, and the ways from the overview and from selected rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.services import snapshot_store
from kschedweb.playground.scenarios.models import Scenario
from tests.support.html import elements, text


@pytest.fixture
def viewer_client(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def search_results(client: Client, words: str) -> list[str]:
    """List the addresses of the results, the first one first."""
    page = client.get("/search/", {"q": words}, headers={"HX-Request": "true"})
    return [str(element["href"]) for element in elements(page, "a.hit")]


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("compare pol", "/comparisons/new/"),
        ("cmp pol", "/comparisons/new/"),
        ("drain", "/capacity/drain/"),
        ("capacity", "/capacity/"),
        ("maintenance", "/capacity/drain/"),
        ("preferences", "/settings/"),
    ],
)
def test_the_palette_offers_what_can_be_done_first(
    demo: Snapshot, client_as: Callable[[str], Client], words: str, address: str
) -> None:
    assert search_results(client_as("editor"), words)[0].partition("?")[0] == address


def test_nobody_is_offered_what_they_may_not_do(viewer_client: Client, client_as: Callable[[str], Client]) -> None:
    assert "/comparisons/new/" not in search_results(viewer_client, "compare policies")
    assert "/clusters/connect/" not in search_results(client_as("editor"), "connect a cluster")
    assert "/clusters/connect/" in search_results(client_as("admin"), "connect a cluster")


def test_every_page_of_the_menu_is_found_by_its_name(viewer_client: Client) -> None:
    hits = elements(viewer_client.get("/search/?q=&kind=pages"), "#main a.hit")
    paths = {str(hit["href"]).partition("?")[0] for hit in hits}
    menu = {str(element["href"]).partition("?")[0] for element in elements(viewer_client.get("/"), "nav.rail li a")}
    assert len(menu) > 8
    assert menu <= paths


def test_the_theme_changes_from_the_search_without_javascript(viewer_client: Client) -> None:
    page = viewer_client.get("/search/", {"q": "dark"})
    assert elements(page, "form.theme[action=/theme/] button[name=theme][value=dark]")


def test_explain_pod_leads_to_decisions(viewer_client: Client) -> None:
    links = search_results(viewer_client, "explain pod web-prev")
    assert links[0] == "/decision/demo/shop/web-preview/"
    assert search_results(viewer_client, "why web-prev")[0] == links[0]
    assert elements(viewer_client.get("/search/?q=explain"), "a[data-fills]")


def test_letters_in_their_order_find_a_pod_that_no_name_holds(viewer_client: Client) -> None:
    assert search_results(viewer_client, "wbprvw") == ["/decision/demo/shop/web-preview/"]
    assert search_results(viewer_client, "wb prvw") == ["/decision/demo/shop/web-preview/"]
    assert search_results(viewer_client, "gen a 1")[0] == "/nodes/general-a-1/?cluster=demo"


@pytest.mark.parametrize("words", ["a" * 100, "%", "_", "[", "\\", "(a+)+$", "' or 1=1", "а́"])
def test_no_odd_words_break_the_search(viewer_client: Client, words: str) -> None:
    assert viewer_client.get("/search/", {"q": words}).status_code == 200
    assert viewer_client.get("/search/", {"q": words, "kind": "pods"}).status_code == 200


def test_the_search_says_how_many_of_a_kind_there_are_and_leads_to_all(viewer_client: Client, demo: Snapshot) -> None:
    total = PodRow.objects.filter(snapshot=demo, name__icontains="web").count()
    assert total > 50
    page = viewer_client.get("/search/?q=web")
    assert f"8 of {total}" in text(page)
    (more_link,) = elements(page, "a.more")
    list_page = viewer_client.get(more_link["href"])
    assert len(elements(list_page, "#main .hit")) == 50
    assert elements(list_page, "nav.pagination a[rel=next]")
    assert f"{total} pods" in text(list_page)


def test_a_reason_of_the_overview_leads_to_its_pods(viewer_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LIST_SECONDS", "REASON_SECONDS"):
        monkeypatch.setattr(f"kschedweb.dashboard.views.{name}", 600.0)
    page = viewer_client.get("/")
    reasons = dict(page.context["reasons"])
    links = [element["href"] for element in elements(page, "#reasons td a")]
    assert len(links) == len(reasons)
    for link, (reason, count) in zip(links, reasons.items(), strict=True):
        pods_page = viewer_client.get(link)
        assert pods_page.context["page"].paginator.count == count, reason
    assert viewer_client.get("/pods/?reason=never+said").context["page"].paginator.count == 0


def test_a_zone_of_the_overview_leads_to_the_nodes_that_it_counts(viewer_client: Client, demo: Snapshot) -> None:
    NodeRow.objects.filter(snapshot=demo, name="gpu-a-1").update(zone="")
    page = viewer_client.get("/")
    links = [element["href"] for element in elements(page, "section[aria-labelledby=zones] th a")]
    for link, zone in zip(links, page.context["zones"], strict=True):
        assert viewer_client.get(link).context["page"].paginator.count == zone.nodes
    assert any("zone=-" in link for link in links)


def test_selected_nodes_are_rehearsed_and_cordoned_in_a_draft(
    demo: Snapshot, client_as: Callable[[str], Client]
) -> None:
    client = client_as("editor")
    page = client.get("/nodes/?cluster=demo")
    names = [box["value"] for box in elements(page, "input[form=selection][name=nodes]")][:3]
    drain_page = client.get("/capacity/drain/", {"cluster": "demo", "nodes": names[:2]})
    assert "2 nodes" in text(drain_page)
    (snapshot,) = elements(page, "form#selection input[name=snapshot]")
    draft = client.get("/scenarios/new/", {"cordon": "on", "nodes": names, "snapshot": snapshot["value"]})
    (name,) = elements(draft, "#id_name")
    assert name["value"] == f"{names[0]} and 2 more cordoned"
    assert not Scenario.objects.filter(built_in=False).exists()
    response = client.post(
        "/scenarios/new/", {"name": name["value"], "start": snapshot["value"], "cordon": " ".join(names)}
    )
    assert response.status_code == 302, text(response)
    scenario = Scenario.objects.get(built_in=False)
    document = scenario.revisions.get().text
    assert "cordonNodes" in document
    assert all(name in document for name in names)


def test_a_viewer_is_offered_no_scenario(viewer_client: Client) -> None:
    assert not elements(viewer_client.get("/nodes/?cluster=demo"), "form#selection button[name=cordon]")


def test_a_newer_snapshot_announces_itself(
    demo: Snapshot, demo_objects: list[dict[str, Any]], viewer_client: Client
) -> None:
    (box,) = elements(viewer_client.get("/pods/?cluster=demo"), ".list-news")
    news_address = f"/pods/{box['hx-get']}"
    assert viewer_client.get(news_address).status_code == 204
    pods = [item for item in demo_objects if item["kind"] == "Pod"]
    other_objects = [item for item in demo_objects if item is not pods[0] and item is not pods[1]]
    fresh = {**pods[2], "metadata": {**pods[2]["metadata"], "name": "fresh"}}
    snapshot_store(cluster=demo.cluster, objects=[*other_objects, fresh], problems=[])
    bar = viewer_client.get(news_address)
    assert "1 new, 2 gone, show" in text(bar)
    snapshot_store(cluster=demo.cluster, objects=[*demo_objects, fresh], problems=[])
    (link,) = elements(viewer_client.get(news_address), "a")
    assert link["data-announce"] == "1 new"
