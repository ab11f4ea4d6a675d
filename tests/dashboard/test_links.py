"""Links that stay: what a page says it shows and the link that pins it; tests/walk/links.py says of what session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.services import snapshot_store
from kschedweb.policies.selectors import policy_get
from kschedweb.policies.services import revision_save
from tests.support import seed
from tests.support.html import elements, html_of

PINNED_PAGES = [
    "/decision/demo/ml/notebook/?policy=default",
    "/load-aware/?cluster=demo&policy=default",
    "/capacity/?cluster=demo&policy=default&cpu=500m&memory=1Gi",
    "/capacity/gangs/?cluster=demo&policy=default&cpu=500m&memory=1Gi&pods=2",
    "/capacity/nodes/?cluster=demo&policy=default&ask=1&pending=on&node_cpu=16&node_memory=64Gi",
    "/capacity/drain/?cluster=demo&policy=default&nodes=general-a-1",
    "/?cluster=demo&policy=default",
    "/pods/?cluster=demo&policy=default",
    "/clusters/demo/podgroups/?policy=default",
]


@pytest.fixture
def viewer(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def resolved_line(page: Any) -> str:
    [line] = elements(page, "p.resolved")
    return line.text


def copied_link(page: Any, address: str) -> str:
    """Build the address that "Copy link" copies, as ``pin-address.ts`` joins it."""
    [button] = elements(page, "button[data-pins]")
    parts = urlsplit(address)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    pins = {name: values[0] for name, values in parse_qs(button["data-pins"]).items()}
    return f"{parts.path}?" + "&".join(f"{name}={value}" for name, value in (query | pins).items())


@pytest.mark.parametrize("address", PINNED_PAGES)
def test_a_page_says_what_its_address_led_to(viewer: Client, demo: Snapshot, address: str) -> None:
    moment = f"{demo.taken_at:%Y-%m-%d %H:%M} UTC"
    page = viewer.get(address)
    assert resolved_line(page) == f"default@1 · {moment}"
    assert len(elements(page, "p.resolved [data-latest]")) == 2


@pytest.mark.parametrize("address", PINNED_PAGES)
def test_a_copied_link_shows_the_same_when_there_is_something_newer(
    viewer: Client, demo: Snapshot, demo_objects: list[dict[str, Any]], address: str
) -> None:
    link = copied_link(viewer.get(address), address)
    later = snapshot_store(cluster=demo.cluster, objects=demo_objects, problems=[])
    revision_save(policy=policy_get("default"), document=seed.POLICY.format(3), author=None, expected=1)
    page = viewer.get(link)
    scope = page.context["scope"]
    assert (scope.snapshot, scope.revision.number) == (demo, 1)
    assert resolved_line(page).startswith("default@1 · ")
    assert not elements(page, "p.resolved [data-latest]")
    assert copied_link(page, link) == link
    [latest] = elements(page, "p.resolved a")
    scope = viewer.get(urlsplit(address).path + latest["href"]).context["scope"]
    assert (scope.snapshot, scope.revision.number) == (later, 2)


@pytest.mark.parametrize("address", PINNED_PAGES)
@pytest.mark.parametrize("unknown", ["nonsense", "00000000-0000-4000-8000-000000000000"])
def test_a_snapshot_that_is_gone_is_said(viewer: Client, address: str, unknown: str) -> None:
    answer = viewer.get(f"{address}&snapshot={unknown}")
    assert answer.status_code == 404
    assert f"Cluster demo has no snapshot {unknown}." in html_of(answer)


def test_links_of_a_pinned_page_keep_its_snapshot(viewer: Client, demo: Snapshot) -> None:
    page = viewer.get(f"/decision/demo/ml/notebook/?policy=default&revision=1&snapshot={demo.pk}")
    assert [link["href"].partition("?")[2] for link in elements(page, "a[rel=next]")] == [
        f"policy=default&revision=1&snapshot={demo.pk}"
    ]
    page = viewer.get(f"/capacity/?cluster=demo&snapshot={demo.pk}")
    assert all(
        f"snapshot={demo.pk}" in link["href"]
        for link in elements(page, ".tabs a, .segments a")
        if "capacity" in link["href"]
    )
    assert elements(page, f"form[action=/capacity/?cluster=demo&snapshot={demo.pk}]")


def test_a_copied_link_to_nodes_shows_its_snapshot(
    viewer: Client, demo: Snapshot, demo_objects: list[dict[str, Any]]
) -> None:
    link = copied_link(viewer.get("/nodes/?cluster=demo"), "/nodes/?cluster=demo")
    snapshot_store(cluster=demo.cluster, objects=demo_objects, problems=[])
    page = viewer.get(link)
    assert page.context["scope"].snapshot == demo
    side = page.context["map"].sides[0]
    assert side.inline, "the map stands in its page"
    assert all(f"snapshot={demo.pk}" in address for address in (side.pods, side.nodes))
    assert page.context["use"] is None, "what is used now is not of that snapshot"
    snapshots = [field["value"] for field in elements(page, "form.filters input[name=snapshot]")]
    assert snapshots == [str(demo.pk)] * 2, "the filter and the map keep it"


def test_a_copied_link_to_costs_shows_its_snapshot(
    viewer: Client, demo: Snapshot, demo_objects: list[dict[str, Any]]
) -> None:
    link = copied_link(viewer.get("/costs/?cluster=demo&by=workload"), "/costs/?cluster=demo&by=workload")
    snapshot_store(cluster=demo.cluster, objects=demo_objects, problems=[])
    assert viewer.get(link).context["scope"].snapshot == demo


def test_search_and_palette_look_in_the_cluster_of_the_page(viewer: Client) -> None:
    for address in ("/pods/?cluster=demo", "/clusters/demo/", "/decision/demo/ml/notebook/"):
        page = viewer.get(address)
        assert [element["value"] for element in elements(page, ".search-form input[name=cluster]")] == ["demo"], address
        assert elements(page, "#palette input[hx-get=/search/?cluster=demo]"), address
    page = viewer.get("/jobs/")
    assert not elements(page, ".search-form input[name=cluster]")
    assert elements(page, "#palette input[hx-get=/search/]")
