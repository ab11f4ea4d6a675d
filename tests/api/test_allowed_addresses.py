"""The allowlist of clusters over REST: who changes it, when, and what stays written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.connecting.addresses import CLUSTERS

pytestmark = pytest.mark.django_db

ADDRESSES = "/api/v1/allowed-addresses/"


@pytest.fixture
def admin_api(api_as: Callable[[str], APIClient], settings: Settings) -> APIClient:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOWLIST_EDITABLE = ["10.20.0.0/16"], True
    return api_as("admin")


def list_entries(client: APIClient) -> list[Any]:
    return client.get(ADDRESSES).json()["results"]


def test_what_is_added_counts_until_it_is_removed_and_stays_in_the_audit_trail(admin_api: APIClient) -> None:
    answer = admin_api.post(ADDRESSES, {"entry": " 10.30.1.0/24 "})
    assert answer.status_code == 201
    assert answer["Location"].endswith(f"{ADDRESSES}10.30.1.0/24/")
    assert (answer.json()["entry"], answer.json()["added_by"]) == ("10.30.1.0/24", "admin")
    assert list_entries(admin_api) == [answer.json()]
    assert CLUSTERS.entries == ["10.20.0.0/16", "10.30.1.0/24"]
    assert admin_api.delete(answer["Location"]).status_code == 204
    assert list_entries(admin_api) == []
    assert admin_api.delete(answer["Location"]).status_code == 404
    entries = AuditEntry.objects.filter(verb__startswith="cluster.address").order_by("id")
    assert list(entries.values_list("actor_name", "verb", "object_name")) == [
        ("admin", "cluster.address_allowed", "10.30.1.0/24"),
        ("admin", "cluster.address_removed", "10.30.1.0/24"),
    ]


@pytest.mark.parametrize(
    ("entry", "status", "detail"),
    [("10.20.0.0/16", 409, "allowed already"), ("0.0.0.0/0", 400, "too wide"), ("169.254.169.254", 400, "no request")],
)
def test_an_entry_that_is_refused_is_named(admin_api: APIClient, entry: str, status: int, detail: str) -> None:
    answer = admin_api.post(ADDRESSES, {"entry": entry})
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    (error,) = answer.json()["errors"]
    assert error["path"] == "entry"
    assert detail in error["message"]


def test_nothing_counts_or_changes_where_the_operator_does_not_permit_it(
    admin_api: APIClient, settings: Settings
) -> None:
    assert admin_api.post(ADDRESSES, {"entry": "10.1.2.3"}).status_code == 201
    settings.CLUSTER_ALLOWLIST_EDITABLE = False
    assert list_entries(admin_api) == []
    for answer in (admin_api.post(ADDRESSES, {"entry": "10.1.2.4"}), admin_api.delete(f"{ADDRESSES}10.1.2.3/")):
        assert answer.status_code == 403
        assert "KSCHEDWEB_CLUSTER_ALLOWLIST_EDITABLE" in answer.json()["detail"]


def test_editors_neither_see_nor_change_it(admin_api: APIClient, api_as: Callable[[str], APIClient]) -> None:
    editor = api_as("editor")
    for answer in (editor.get(ADDRESSES), editor.post(ADDRESSES, {"entry": "10.1.2.3"})):
        assert answer.status_code == 403
    assert list_entries(admin_api) == []
