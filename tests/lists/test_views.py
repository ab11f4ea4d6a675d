"""Columns, density and saved views of lists, as a person without JavaScript uses them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db.models import QuerySet
from django.test import Client

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.lists.models import SavedView
from kschedweb.lists.services import MOST_VIEWS
from kschedweb.web import tables
from tests.support.html import elements, html_of, text

ADDRESS = "/pods/?cluster=demo&pending=true&ordering=-cpu"


@pytest.fixture
def client(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def optional_columns() -> list[str]:
    table = tables.find_table("pods")
    assert table is not None
    return table.optional


def saved_views() -> QuerySet[SavedView]:
    return SavedView.objects.exclude(name="")


def hidden_columns_of(client: Client, address: str = ADDRESS) -> set[str]:
    (table,) = elements(client.get(address), "[aria-label=Pods] table")
    return {name for name in table["class"].split() if name.startswith("hide-")}


def keep_columns(client: Client, *columns: str, density: str = "") -> str:
    data = {"shown": list(columns), "density": density, "next": ADDRESS}
    return str(client.post("/lists/pods/columns/", data)["Location"])


def save_view(client: Client, name: str, address: str = ADDRESS) -> str:
    """Save what ``address`` shows, by the form that stands there; returns where it leads."""
    (form,) = elements(client.get(address), "form[action=/lists/pods/views/]")
    assert form
    (columns,) = elements(client.get(address), "form[action=/lists/pods/views/] input[name=columns]")
    answer = client.post("/lists/pods/views/", {"name": name, "next": address, "columns": columns["value"]})
    return str(answer["Location"])


def test_hidden_columns_stay_hidden_for_this_person_alone(client: Client, client_as: Callable[[str], Client]) -> None:
    assert hidden_columns_of(client) == set()
    assert keep_columns(client, "node", "scheduler", "cpu", "memory", "priority", "age") == ADDRESS
    assert hidden_columns_of(client) == {"hide-2"}
    assert "1 hidden" in text(client.get(ADDRESS))
    assert hidden_columns_of(client_as("editor")) == set()
    keep_columns(client, *optional_columns())
    assert hidden_columns_of(client) == set()
    assert SavedView.objects.count() == 1


def test_the_density_is_that_of_all_lists(client: Client) -> None:
    keep_columns(client, "node", density="compact")
    assert 'data-density="compact"' in html_of(client.get("/nodes/"))
    keep_columns(client, "node")
    assert "data-density" not in html_of(client.get("/nodes/"))
    keep_columns(client, "node", density="tiny")
    assert "data-density" not in html_of(client.get("/nodes/"))


def test_a_view_keeps_filter_order_and_columns_but_no_cluster(client: Client) -> None:
    keep_columns(client, "node", "scheduler", "cpu")
    view_address = save_view(client, "  Pending, most CPU ")
    view = saved_views().get()
    assert view_address == f"{ADDRESS}&view={view.pk}"
    assert (view.name, view.filters) == ("Pending, most CPU", {"pending": "true", "ordering": "-cpu"})
    keep_columns(client, *optional_columns())
    assert len(hidden_columns_of(client, view_address)) == 4
    assert hidden_columns_of(client) == set()
    (link,) = elements(client.get("/pods/"), ".list-tools li a")
    assert link["href"] == f"?pending=true&ordering=-cpu&view={view.pk}"


def test_saving_under_a_name_that_is_there_replaces_the_view(client: Client) -> None:
    save_view(client, "mine")
    save_view(client, "mine", "/pods/?cluster=demo&namespace=shop")
    assert saved_views().get().filters == {"namespace": "shop"}


def test_choosing_columns_leaves_a_view(client: Client) -> None:
    view_address = save_view(client, "mine")
    answer = client.post("/lists/pods/columns/", {"shown": ["node"], "next": view_address})
    assert answer["Location"] == ADDRESS


def test_views_are_renamed_and_deleted_on_a_page_of_their_own(client: Client) -> None:
    save_view(client, "one")
    save_view(client, "two")
    first, second = saved_views().order_by("name")
    page = client.get("/views/")
    assert [a["href"] for a in elements(page, "#main tbody th a")] == [
        f"/pods/?pending=true&ordering=-cpu&view={view.pk}" for view in (first, second)
    ]
    client.post(f"/views/{first.pk}/", {"name": "first"})
    assert "called first" in text(client.get("/views/"))
    client.post(f"/views/{second.pk}/", {"name": "first"})
    assert "have a view first of this list already" in text(client.get("/views/"))
    client.post(f"/views/{first.pk}/delete/")
    assert [view.name for view in saved_views()] == ["two"]


def test_nobody_sees_or_changes_the_views_of_others(client: Client, client_as: Callable[[str], Client]) -> None:
    view_address = save_view(client, "mine")
    view, other_client = saved_views().get(), client_as("editor")
    assert "mine" not in text(other_client.get("/views/"))
    assert other_client.post(f"/views/{view.pk}/", {"name": "yours"}).status_code == 404
    assert other_client.post(f"/views/{view.pk}/delete/").status_code == 404
    keep_columns(client, "node")
    save_view(client, "mine")
    assert hidden_columns_of(other_client, view_address) == set()  # the address still works, with their own columns


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b"])
def test_a_name_that_cannot_be_is_refused_in_words(client: Client, name: str) -> None:
    client.post("/lists/pods/views/", {"name": name, "next": ADDRESS})
    assert not saved_views().exists()
    assert elements(client.get(ADDRESS), ".notice.bad")


def test_a_filter_that_the_list_does_not_take_is_not_saved(client: Client) -> None:
    client.post("/lists/pods/views/", {"name": "x", "next": "/pods/?ordering=color"})
    assert not saved_views().exists()


def test_there_is_a_limit(client: Client, viewer: User) -> None:
    owner = User.objects.get(pk=client.session["_auth_user_id"])
    SavedView.objects.bulk_create(SavedView(user=owner, table="pods", name=str(n)) for n in range(MOST_VIEWS))
    client.post("/lists/pods/views/", {"name": "one more", "next": ADDRESS})
    assert "Delete one first" in text(client.get(ADDRESS))


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/x", ""])
def test_the_forms_lead_nowhere_else(client: Client, target: str) -> None:
    answer = client.post("/lists/pods/columns/", {"shown": ["node"], "next": target})
    assert answer["Location"] == "/pods/"


@pytest.mark.parametrize("view_id", ["0", "-1", "x", "9" * 30, "²"])
def test_a_view_that_is_not_there_shows_the_list_as_it_is(client: Client, view_id: str) -> None:
    assert client.get(f"/pods/?cluster=demo&view={view_id}").status_code == 200


def test_an_unknown_list_is_not_found(client: Client) -> None:
    assert client.post("/lists/nothing/columns/").status_code == 404
    assert client.post("/lists/nothing/views/").status_code == 404


def test_every_list_has_a_page_of_its_name_and_columns_with_keys_of_their_own() -> None:
    from django.urls import reverse

    assert len(tables.list_tables()) > 15
    for table in tables.list_tables():
        keys = [column.key for column in table.shown]
        assert len(set(keys)) == len(keys)
        assert len(set(table.head)) == len(table.head), f"{table.name} as a file"
        assert len(keys) <= 12, "lists.css hides twelve"
        if table.page:
            assert reverse(table.page)


def test_the_list_of_views_says_filters_and_columns_as_pages_do(client: Client) -> None:
    keep_columns(client, "node", "scheduler", "cpu", "memory", "priority", "age")
    save_view(client, "waiting", "/pods/?pending=true&ordering=-cpu&namespace=shop")
    (row,) = elements(client.get("/views/"), "tbody tr")
    row_text = " ".join(row.text.split())
    assert "Namespace: shop; Pending: Yes; Order: CPU (cores), descending" in row_text
    hidden_columns = elements(client.get("/views/"), "tbody td")[2]
    assert hidden_columns.text.strip() == "Namespace"
