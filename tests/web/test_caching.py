"""Caching rules for browsers."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db
PRIVATE = "private, no-store"


@pytest.mark.parametrize("path", ["/", "/jobs/", "/policies/default/", "/nowhere/", "/audit/?format=csv"])
def test_pages_are_kept_nowhere(client_as, path):
    cache_control = client_as("admin").get(path)["Cache-Control"]
    assert {"private", "no-store"} <= set(cache_control.split(", ")), cache_control


def test_answers_of_rest_are_kept_nowhere(client_as):
    client = client_as("admin")
    for path in ("users/", "audit/", "policies/", "policies/default/", "nowhere/", "schema/"):
        assert client.get(f"/api/v1/{path}")["Cache-Control"] == PRIVATE, path


def test_what_a_stranger_gets_is_kept_nowhere_either(db):
    assert Client().get("/jobs/")["Cache-Control"] == PRIVATE
    assert "no-store" in Client().get(reverse("login"))["Cache-Control"]
    assert Client().get("/api/v1/jobs/")["Cache-Control"] == PRIVATE


def test_an_answer_that_says_itself_how_long_it_holds_is_left_alone(client_as):
    assert client_as("viewer").get(reverse("policy-schema"))["Cache-Control"] == "private, max-age=3600"
