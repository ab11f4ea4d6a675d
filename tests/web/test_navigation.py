"""The rail in its groups, the tabs within its pages, and the bar, which chooses only what a page depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import NoReverseMatch, reverse

from kschedweb.web import navigation
from kschedweb.web.navigation import BarChoice, Entry, RailGroup
from tests.support.html import elements
from tests.support.routes import routes

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db
RAIL = {
    "Cluster": [
        "Fleet",
        "Overview",
        "Pods",
        "Nodes",
        "Usage",
        "Capacity and drain",
        "Autoscaling",
        "Cost",
        "Right-size",
    ],
    "Policies": ["Policies", "Load-aware scores", "Classic migration", "Releases"],
    "What-if": ["Scenarios", "Comparisons", "Optimise", "CI gate", "Recordings", "Moves", "Plan moves"],
    "In production": ["Schedulers", "Approvals", "Shadow", "Extender"],
    "Admin": ["Clusters", "People", "Grants", "Tokens", "Audit", "Jobs"],
}


def every_action(action: str) -> bool:
    return True


def rail_labels(page: Any) -> dict[str, list[str]]:
    return {group.value: [page["label"] for page in pages] for group, pages in page.context["rail"]}


def test_the_rail_has_the_pages_in_the_groups_of_what_people_do(client_as: Callable[[str], Client]) -> None:
    page = client_as("admin").get("/jobs/")
    assert rail_labels(page) == RAIL
    assert [element.text for element in elements(page, ".rail a[aria-current=page]")] == ["Jobs"]


def test_a_group_without_a_page_for_the_role_is_not_there(client_as: Callable[[str], Client]) -> None:
    assert rail_labels(client_as("viewer").get("/jobs/"))["Admin"] == ["Clusters", "Tokens", "Jobs"]


def test_the_sandbox_is_a_page_of_the_cluster_where_the_site_has_one(
    client_as: Callable[[str], Client], settings: Any
) -> None:
    settings.SANDBOX_SERVER = "http://127.0.0.1:1"
    assert rail_labels(client_as("viewer").get("/jobs/"))["Cluster"] == [*RAIL["Cluster"], "Sandbox"]


@pytest.mark.parametrize("name", [route.name for route in routes() if route.opened and not route.is_rest])
def test_every_page_has_one_place_in_the_navigation(name: str, settings: Any) -> None:
    settings.SANDBOX_SERVER = "http://127.0.0.1:1"
    everything = [entry for group in RailGroup for entry in navigation.list_entries(group, every_action, name, "")]
    # Outside of the frame, and in the menu of the person.
    alone = {"login", "account_login", "account_reauthenticate", "password", "password-forgotten", "password-mailed"}
    alone.add("mfa_index")
    assert len([entry_shown for entry_shown in everything if entry_shown["open"]]) == (0 if name in alone else 1)


@pytest.mark.parametrize(
    ("name", "labels", "open_tab"),
    [
        (
            "usage-workloads",
            ["Skew", "Heatmap", "Distribution", "Requests against use", "Data source", "Annotations"],
            "Requests against use",
        ),
        ("runs", ["Comparisons", "Runs"], "Runs"),
        ("classic", ["Pods that would move", "Predicates and priorities"], "Predicates and priorities"),
        ("overview", [], None),
    ],
)
def test_a_page_with_tabs_says_which_of_them_is_open(name: str, labels: list[str], open_tab: str | None) -> None:
    tabs = navigation.list_tabs(name, "?cluster=shop")
    assert [tab["label"] for tab in tabs] == labels
    assert next((tab["label"] for tab in tabs if tab["open"]), None) == open_tab


def test_tabs_keep_the_cluster_where_they_depend_on_one() -> None:
    assert navigation.list_tabs("usage", "?cluster=shop")[1]["address"] == "/usage/heatmap/?cluster=shop"
    assert navigation.list_tabs("runs", "?cluster=shop")[0]["address"] == "/comparisons/"


def test_an_entry_is_open_for_its_family_and_its_stems() -> None:
    entry = Entry("Runs", "", "runs", 1, frozenset({"played"}), ("run",))
    open_names = [name for name in ("runs", "run", "run-new", "played", "rundown", "pods") if entry.contains_page(name)]
    assert open_names == ["runs", "run", "run-new", "played"]


def test_every_page_that_declares_what_it_depends_on_is_a_page() -> None:
    names = {route.name for route in routes() if not route.is_rest}
    declaring_pages = {name for name in names if navigation.choices_of(name)}
    assert {"overview", "pods", "decision", "load-aware", "capacity-fit"} <= declaring_pages
    assert set(navigation._choices) <= names
    for group in RailGroup:
        for entry in navigation.list_entries(group, every_action, "", ""):
            try:
                reverse(entry["name"])
            except NoReverseMatch:
                pytest.fail(f"{entry['label']} leads nowhere")


def test_nothing_is_chosen_where_nothing_depends_on_it() -> None:
    assert navigation.choices_of("jobs") == frozenset()
    assert navigation.choices_of("nodes") == {BarChoice.CLUSTER, BarChoice.SNAPSHOT}
