"""The rail in its groups, the tabs within its pages, and the bar, which chooses only what a page depends on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.accounts.roles import role_allows
from kschedweb.web import navigation
from kschedweb.web.navigation import BarChoice, Entry, RailGroup, Visit
from tests.support.html import elements
from tests.support.routes import routes

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db
RAIL = {
    "See": ["Overview", "Pods", "Nodes"],
    "Try": ["Try a change", "Simulations", "Tune weights"],
    "Improve": ["Capacity", "Savings"],
    "Run": ["Policies", "Schedulers", "Approvals"],
}


def visit(page: str = "", role: str = "admin", cluster: str = "shop", query: str = "", **parameters: str) -> Visit:
    return Visit(partial(role_allows, role), page, parameters, cluster, query)


def rail_labels(page: Any) -> dict[str, list[str]]:
    return {group.value: [page["label"] for page in pages] for group, pages in page.context["rail"]}


def test_the_rail_has_eleven_entries_and_a_gear(client_as: Callable[[str], Client]) -> None:
    page = client_as("admin").get("/jobs/")
    assert rail_labels(page) == RAIL
    assert [element.text for element in elements(page, ".rail a[aria-current=page]")] == ["Settings"]
    assert [element.text for element in elements(page, ".tabs a")] == [
        "Clusters", "People and access", "Audit", "Jobs"
    ]  # fmt: skip


def test_each_icon_of_the_rail_belongs_to_one_entry() -> None:
    links = [link for group in (*RAIL, "Settings") for link in navigation.list_entries(RailGroup(group), visit())]
    assert len({link["icon"] for link in links}) == len(links) == 12


def test_a_tab_and_a_view_are_there_for_the_roles_that_may_open_them() -> None:
    settings = {role: navigation.list_tabs(visit("jobs", role)) for role in ("viewer", "admin")}
    assert [tab["label"] for tab in settings["viewer"]] == ["Clusters", "People and access", "Jobs"]
    # The tab leads to the first of its views that is there.
    assert settings["viewer"][1]["address"] == "/tokens/"
    assert settings["admin"][1]["address"] == "/people/"
    assert [view["label"] for view in navigation.list_views(visit("tokens", "viewer"))] == ["Tokens"]


@pytest.mark.parametrize("name", [route.name for route in routes() if route.opened and not route.is_rest])
def test_every_page_has_one_place_in_the_navigation(name: str) -> None:
    entries = [entry for group in RailGroup for entry in navigation.list_entries(group, visit(name))]
    # Outside of the frame, and in the menu of the person.
    alone = {"login", "account_login", "account_reauthenticate", "password", "password-forgotten", "password-mailed"}
    alone.add("mfa_index")
    assert len([entry for entry in entries if entry["open"]]) == (0 if name in alone else 1)


@pytest.mark.parametrize(
    ("name", "parameters", "title", "tabs", "views"),
    [
        (
            "usage-workloads",
            {},
            ["Nodes", "Requests against use", "Workloads"],
            ["Map", "Use over time", "Requests against use"],
            ["Nodes", "Workloads"],
        ),
        ("runs", {}, ["Simulations", "Runs"], ["Scenarios", "Runs", "Comparisons", "Experiments", "Recordings"], []),
        (
            "comparisons",
            {"kind": "experiment"},
            ["Simulations", "Experiments"],
            ["Scenarios", "Runs", "Comparisons", "Experiments", "Recordings"],
            [],
        ),
        ("pods", {}, ["Pods", "All"], ["Pending", "All", "Explain together", "Groups", "Queues"], []),
        (
            "pods",
            {"pending": "true"},
            ["Pods", "Pending"],
            ["Pending", "All", "Explain together", "Groups", "Queues"],
            [],
        ),
        ("overview", {}, ["Overview"], [], []),
        ("run", {}, [], [], []),
    ],
)
def test_a_page_says_which_tab_and_view_it_is(
    name: str, parameters: dict[str, str], title: list[str], tabs: list[str], views: list[str]
) -> None:
    current = visit(name, **parameters)
    listed = navigation.list_tabs(current), navigation.list_views(current)
    assert navigation.page_labels(current) == title
    assert [[link["label"] for link in links] for links in listed] == [tabs, views]
    open_labels = [link["label"] for links in listed for link in links if link["open"]]
    assert open_labels == title[1:]


def test_tabs_keep_the_cluster_where_they_depend_on_one() -> None:
    assert navigation.list_views(visit("usage", query="?cluster=shop"))[1]["address"] == "/usage/heatmap/?cluster=shop"
    assert navigation.list_tabs(visit("runs", query="?cluster=shop"))[0]["address"] == "/scenarios/"
    assert [tab["address"] for tab in navigation.list_tabs(visit("pods", query="?cluster=shop"))] == [
        "/pods/?cluster=shop&pending=true",
        "/pods/?cluster=shop",
        "/clusters/shop/together/",
        "/clusters/shop/podgroups/",
        "/queues/?cluster=shop",
    ]
    assert [tab["label"] for tab in navigation.list_tabs(visit("pods", cluster=""))] == ["Pending", "All", "Queues"]


def test_an_entry_contains_its_stems_but_shows_tabs_for_its_family_alone() -> None:
    entry = Entry("Runs", "runs", family=frozenset({"played"}), stems=("run",))
    names = ("runs", "run", "run-new", "played", "rundown", "pods")
    assert [name for name in names if entry.contains_page(name)] == ["runs", "run", "run-new", "played"]
    assert [name for name in names if entry.shows_tab(name)] == ["runs", "played"]


def test_the_title_of_a_page_is_its_word_in_the_rail(client_as: Callable[[str], Client]) -> None:
    client = client_as("admin")
    for path, link in navigation.list_pages(visit(cluster="")):
        page = client.get(link["address"])
        # Some pages show an answer at once, which is their title.
        if page.status_code == 200 and path[0].label != "REST reference":
            title = re.sub(r"\s+", " ", elements(page, "title")[0].text).strip()
            assert str(path[-1].label) in title, link["address"]
            assert title.removesuffix(" · kschedweb").endswith(str(path[0].label)), link["address"]


def test_every_page_that_declares_what_it_depends_on_is_a_page() -> None:
    names = {route.name for route in routes() if not route.is_rest}
    declaring_pages = {name for name in names if navigation.choices_of(name)}
    assert {"overview", "pods", "decision", "load-aware", "capacity-fit"} <= declaring_pages
    assert set(navigation._choices) <= names
    for group in RailGroup:
        assert navigation.list_entries(group, visit()), group


def test_nothing_is_chosen_where_nothing_depends_on_it() -> None:
    assert navigation.choices_of("jobs") == frozenset()
    assert navigation.choices_of("nodes") == {BarChoice.CLUSTER, BarChoice.SNAPSHOT}
