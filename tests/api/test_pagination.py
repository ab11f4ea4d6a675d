"""Cursor pages against the plain list, whatever the order, ties and gaps."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from kschedweb.jobs.models import Job
from kschedweb.web.pagination import CursorPagination, encode_cursor, keys_of
from tests.support.tiers import count

pytestmark = [pytest.mark.django_db, pytest.mark.databases]

START = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.none() | st.integers(0, 3).map(lambda day: START + timedelta(days=day))
ROWS = st.lists(st.tuples(st.booleans(), st.sampled_from(["", "a", "B", "ä", "'%_"]), MOMENTS), max_size=12)
FIELDS = ["cancel_requested", "title", "ended_at", "attempt"]
ORDERS = st.lists(st.sampled_from([sign + field for field in FIELDS for sign in ("", "-")]), max_size=3)


def page(queryset, address: str = "/", limit: int = 2) -> tuple[list[Job], str | None, str | None]:
    query = {} if "cursor" in address else {"limit": limit}
    pagination = CursorPagination()
    rows = pagination.paginate_queryset(queryset, Request(APIRequestFactory().get(address, query)))
    return rows, pagination.following, pagination.preceding


@given(rows=ROWS, order=ORDERS, limit=st.integers(1, 5))
@settings(max_examples=count(25, 600), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_walking_forth_and_back_sees_every_row_once_in_order(rows, order, limit):
    Job.objects.all().delete()
    Job.objects.bulk_create(
        Job(kind="x", cancel_requested=flag, title=title, ended_at=moment) for flag, title, moment in rows
    )
    queryset = Job.objects.order_by(*order)
    expected = list(Job.objects.order_by(*(key.order() for key in keys_of(queryset))))

    rows_seen, address, pages = [], "/", []
    while address:
        part, address, _ = page(queryset, address, limit)
        assert len(part) <= limit
        pages.append(part)
        rows_seen += part
    assert rows_seen == expected

    _, _, back = page(queryset, "/", 500)
    assert back is None
    address, rows_back = last_previous(queryset, limit), []
    while address:
        part, _, address = page(queryset, address, limit)
        rows_back = part + rows_back
    assert rows_back + (pages[-1] if len(pages) > 1 else []) == (expected if len(pages) > 1 else [])


def last_previous(queryset, limit: int) -> str | None:
    address: str | None = "/"
    previous = None
    while address:
        _, address, previous = page(queryset, address, limit)
    return previous


def test_many_rows_that_share_the_first_field_end(db):
    Job.objects.bulk_create(Job(kind="x", title="same") for _ in range(1100))
    queryset = Job.objects.order_by("title")
    address: str | None = "/"
    seen_keys: set[uuid.UUID] = set()
    while address:
        rows, address, _ = page(queryset, address, 500)
        assert seen_keys.isdisjoint(row.pk for row in rows)
        seen_keys |= {row.pk for row in rows}
    assert len(seen_keys) == 1100


def test_a_previous_page_whose_rows_are_gone_is_the_first_page(db):
    for _ in range(4):
        Job.objects.create(kind="x", title="x")
    queryset = Job.objects.order_by("created_at")
    _, following, _ = page(queryset)
    _, _, preceding = page(queryset, following)
    Job.objects.filter(pk__in=queryset.values("pk")[:2]).delete()
    rows, _, previous = page(queryset, preceding)
    assert rows == list(queryset)
    assert previous is None


ODD_CURSORS = {
    "a letter": "x",
    "an escape": "%00",
    "digits": "9" * 500,
    "long": "W" * 20000,
    "no place": encode_cursor(False, []),
    "another order": encode_cursor(False, ["a", "b", "c"]),
    "no date": encode_cursor(False, ["not a date", str(uuid.UUID(int=1))]),
    "no id": encode_cursor(False, ["2026-01-01T00:00:00+00:00", "no uuid"]),
    "nested": encode_cursor(False, [["nested"], None]),
    "too large": encode_cursor(False, [2**70, None]),
    "a NUL": encode_cursor(False, ["\0", None]),
}


@pytest.mark.parametrize("name", ODD_CURSORS)
def test_a_cursor_that_was_never_given_out_is_404(api_as, name):
    Job.objects.create(kind="x", title="x")
    answer = api_as("viewer").get("/api/v1/jobs/", {"cursor": ODD_CURSORS[name]})
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("This cursor")


def test_an_order_by_an_expression_falls_back_to_the_primary_key(db):
    assert [key.field for key in keys_of(Job.objects.order_by(F("title").asc()))] == ["pk"]
