"""Pages of other sites that may read the REST API in a browser, and those that may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db

HEADLAMP = "https://headlamp.example.com"
ALLOW = "Access-Control-Allow-Origin"


@pytest.fixture(autouse=True)
def origins(settings: Settings) -> None:
    settings.API_ORIGINS = [HEADLAMP]


def test_a_named_origin_may_read_with_a_token(api_as: Callable[[str], APIClient]) -> None:
    answer = api_as("viewer").get("/api/v1/clusters/", headers={"Origin": HEADLAMP})
    assert (answer.status_code, answer[ALLOW]) == (200, HEADLAMP)
    assert "Origin" in answer["Vary"]
    assert "Access-Control-Allow-Credentials" not in answer


def test_it_reads_why_it_is_refused() -> None:
    answer = Client().get("/api/v1/clusters/", headers={"Origin": HEADLAMP})
    assert (answer.status_code, answer[ALLOW]) == (401, HEADLAMP)


def test_a_preflight_allows_reading_alone() -> None:
    headers = {"Origin": HEADLAMP, "Access-Control-Request-Method": "GET"}
    answer = Client().options("/api/v1/clusters/", headers=headers)
    assert (answer.status_code, answer[ALLOW]) == (204, HEADLAMP)
    assert (answer["Access-Control-Allow-Methods"], answer["Access-Control-Allow-Headers"]) == ("GET", "Authorization")


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("/api/v1/clusters/", "https://elsewhere.example.com"),
        ("/api/v1/clusters/", f"{HEADLAMP}.example.org"),
        ("/api/v1/clusters/", "null"),
        ("/login/", HEADLAMP),
    ],
)
def test_others_and_pages_are_not_read(path: str, origin: str) -> None:
    for answer in (
        Client().get(path, headers={"Origin": origin}),
        Client().options(path, headers={"Origin": origin, "Access-Control-Request-Method": "GET"}),
    ):
        assert ALLOW not in answer
