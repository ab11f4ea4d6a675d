"""The bar: each control stands only on pages that depend on it, and choosing keeps what still holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from tests.support.html import elements

CONTROLS: dict[str, set[str]] = {
    "/": {"cluster", "policy"},
    "/pods/": {"cluster", "namespace", "policy"},
    "/nodes/": {"cluster"},
    "/usage/": {"cluster"},
    "/usage/workloads/": {"cluster", "namespace"},
    "/usage/source/": {"cluster"},
    "/capacity/": {"cluster", "policy"},
    "/load-aware/": {"cluster", "policy"},
    "/decision/demo/ml/notebook/": {"policy"},
    "/policies/default/": {"cluster"},
    "/releases/": {"cluster"},
    "/search/?q=gpu": {"cluster"},
    "/policies/": set(),
    "/clusters/demo/": set(),
    "/scenarios/": set(),
    "/gate/": set(),
    "/live/": set(),
    "/jobs/": set(),
    "/settings/": set(),
}


@pytest.fixture
def viewer(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def test_a_control_stands_only_where_the_page_depends_on_it(viewer: Client) -> None:
    for address, controls in CONTROLS.items():
        page = viewer.get(address)
        assert {chooser.choice.value for chooser in page.context["choosers"]} == controls, address
        assert {element["name"] for element in elements(page, ".choosers select")} == controls, address
        assert bool(elements(page, ".bar .snapshot-age")) == bool(controls), address


def test_another_cluster_keeps_the_policy_and_what_is_searched_but_no_filter(viewer: Client) -> None:
    page = viewer.get(
        "/pods/", {"cluster": "demo", "policy": "default", "revision": "1", "namespace": "ml", "page": "1"}
    )
    cluster, namespace, policy = page.context["choosers"]
    assert cluster.preserved_parameters == [("policy", "default"), ("revision", "1")]
    assert namespace.preserved_parameters == [("cluster", "demo"), ("policy", "default"), ("revision", "1")]
    assert policy.preserved_parameters == [("cluster", "demo"), ("namespace", "ml")]
    [search] = viewer.get("/search/", {"q": "gpu"}).context["choosers"]
    assert search.preserved_parameters == [("q", "gpu")]


def test_links_of_the_rail_name_the_cluster_that_the_page_shows(viewer: Client) -> None:
    # The session's choice may change in another tab meanwhile.
    for address in ("/", "/decision/demo/ml/notebook/", "/clusters/demo/"):
        assert elements(viewer.get(address), ".rail a[href=/pods/?cluster=demo&pending=true]"), address
    assert elements(viewer.get("/jobs/"), ".rail a[href=/pods/?pending=true]")
