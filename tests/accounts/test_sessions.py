"""Lifetime of a session, and the acts that keep it alive."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from kschedweb.accounts import services
from kschedweb.accounts.models import AuditEntry

pytestmark = pytest.mark.django_db
HOUR = 3600
PAGE = "/settings/"


@pytest.fixture
def clock(monkeypatch):
    """Hours that pass: ``clock(0.5)``."""
    now = [1_800_000_000.0]
    monkeypatch.setattr("kschedweb.accounts.sessions.time", lambda: now[0])

    def passes(hours: float) -> None:
        now[0] += hours * HOUR

    return passes


def inside(client: Client, **headers: str) -> bool:
    return client.get(PAGE, headers=headers).status_code == 200


def test_an_administrator_who_does_nothing_for_an_hour_is_out(clock, client_as):
    client = client_as("admin")
    clock(0.9)
    assert inside(client)
    clock(0.9)
    assert inside(client)
    clock(1)
    assert not inside(client)
    clock(-1)
    assert not inside(client)
    entry = AuditEntry.objects.get(verb="login.expired")
    assert entry.actor_name == "admin"


def test_an_administrator_is_out_after_twelve_hours_whatever_they_do(clock, client_as):
    client = client_as("admin")
    for _ in range(23):
        clock(0.5)
        assert inside(client)
    clock(0.5)
    assert not inside(client)


def test_everybody_else_has_fourteen_days_and_may_rest(clock, client_as):
    client = client_as("editor")
    clock(14 * 24 - 0.1)
    assert inside(client)
    clock(0.1)
    assert not inside(client)


def test_the_operator_says_how_long(clock, client_as, settings):
    settings.SESSION_HOURS, settings.SESSION_IDLE_MINUTES = 2, 30
    client = client_as("viewer")
    for _ in range(4):
        assert inside(client)
        clock(0.45)
    clock(0.2)
    assert not inside(client)
    rests = client_as("viewer")
    clock(0.5)
    assert not inside(rests)


@pytest.mark.parametrize("headers", [{"X-Poll": "true", "HX-Request": "true"}, {"Accept": "text/event-stream"}])
def test_what_a_page_asks_by_itself_keeps_no_session_alive(clock, client_as, headers):
    client = client_as("admin")
    for _ in range(5):
        clock(0.19)
        assert inside(client, **headers)
    clock(0.19)
    assert not inside(client, **headers)
    assert not inside(client)


def test_a_new_administrator_has_the_limits_of_one(clock, client_as, admin, editor):
    client = client_as("editor")
    clock(5)
    services.user_change_role(actor=admin, user=editor, role="admin")
    assert not inside(client)


def test_a_session_of_an_earlier_release_begins_anew(clock, client_as):
    client = client_as("admin")
    session = client.session
    for name in ("began", "seen"):
        session.pop(name)
    session.save()
    assert inside(client)
    clock(1)
    assert not inside(client)


def test_activity_is_written_once_a_minute(clock, client_as, django_assert_num_queries):
    def writes(client: Client) -> int:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(connection) as queries:
            client.get(PAGE)
        return sum("UPDATE" in query["sql"] and "django_session" in query["sql"] for query in queries)

    client = client_as("admin")
    counts = []
    for _ in range(6):
        clock(0.005)  # 18 s
        counts.append(writes(client))
    assert counts == [0, 0, 0, 1, 0, 0]
    assert writes(client_as("viewer")) == 0


def test_rest_answers_401_once_the_session_is_over(clock, client_as):
    client = client_as("admin")
    clock(1)
    assert client.get("/api/v1/jobs/").status_code == 401
    assert client.get(reverse("login")).status_code == 200
