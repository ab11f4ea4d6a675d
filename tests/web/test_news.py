"""Lists that grow: how many rows are new, and that what is read stays where it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.jobs.models import Job
from tests.support.html import elements, text


def add_entries(count: int, name: str = "thing") -> None:
    for _ in range(count):
        AuditEntry.objects.create(actor_name="somebody", verb="policy.saved", object_type="policy", object_name=name)


def news_address(client: Client, address: str) -> str:
    """Return the address at which the list asks for its news."""
    (box,) = elements(client.get(address), ".list-news")
    return address.partition("?")[0] + box["hx-get"]


def test_a_list_says_how_many_rows_are_new_and_leads_to_them(client_as: Callable[[str], Client]) -> None:
    client = client_as("admin")
    add_entries(3)
    address = news_address(client, "/audit/")
    assert client.get(address).status_code == 204
    add_entries(2)
    bar = client.get(address)
    assert "<html" not in text(bar)
    (link,) = elements(bar, "a[data-announce]")
    assert (link["data-announce"], link["href"]) == ("2 new", "/audit/?")


def test_only_rows_that_the_filter_lets_through_are_new(client_as: Callable[[str], Client]) -> None:
    client = client_as("admin")
    add_entries(1, "mine")
    address = news_address(client, "/audit/?object_name=mine")
    add_entries(4, "other")
    assert client.get(address).status_code == 204
    add_entries(1, "mine")
    (link,) = elements(client.get(address), "a[data-announce]")
    assert link["href"] == "/audit/?object_name=mine"


def test_the_first_row_of_an_empty_list_is_new(client_as: Callable[[str], Client], admin: User) -> None:
    client = client_as("admin")
    Job.objects.all().delete()
    page = client.get("/jobs/")
    assert not elements(page, ".list-news")  # nothing is listed: the page teaches instead


def test_jobs_that_are_renewed_stay_the_same_ones(client_as: Callable[[str], Client], admin: User) -> None:
    client = client_as("admin")
    first = Job.objects.create(kind="clusters.refresh", title="the first", created_by=admin)
    (table,) = elements(client.get("/jobs/"), "#job-table")
    Job.objects.create(kind="clusters.refresh", title="the second", created_by=admin)
    renewed = client.get(f"/jobs/{table['hx-get']}")
    assert [job.pk for job in renewed.context["page"].rows] == [first.pk]
    (same,) = elements(renewed, "#job-table")
    assert same["hx-get"] == table["hx-get"]
    assert len(client.get("/jobs/").context["page"].rows) == 2


@pytest.mark.parametrize("place", ["x", "W10", "bm9uZQ"])
def test_a_place_of_another_list_is_not_found(client_as: Callable[[str], Client], place: str) -> None:
    client = client_as("admin")
    add_entries(1)
    for name in ("news", "top"):
        assert client.get("/audit/", {name: place}).status_code == 404
