"""Lists of tables that grow: whatever is asked, a page reads what an index finds, or so many rows and no more."""

from __future__ import annotations

import asyncio
import csv
import itertools
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, models
from django.http import QueryDict
from django.http.response import HttpResponseBase
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kschedweb.accounts.filters import AuditFilter
from kschedweb.accounts.models import AuditEntry
from kschedweb.jobs.filters import JobFilter
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.live.approvals.filters import RequestFilter
from kschedweb.live.approvals.models import ApprovalRequest, Delivery
from kschedweb.live.approvals.selectors import request_list
from kschedweb.live.schedulers.decisions.filters import DecisionFilter
from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler, Result
from kschedweb.live.shadow.filters import VerdictFilter
from kschedweb.live.shadow.models import ShadowVerdict
from kschedweb.web import pagination
from kschedweb.web.exports import csv_response
from kschedweb.web.handler import Handler
from kschedweb.web.pagination import cursor_page, in_pieces, keys_of, place_of, rows_beyond
from tests.live.approvals.conftest import scheduler_row
from tests.support import loops
from tests.support.html import elements, text

if TYPE_CHECKING:
    from django.test import Client, RequestFactory
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.databases]
ROWS_LOOKED_AT = 10  # rows that a page looks at here
NOW = timezone.now()


@pytest.fixture
def live() -> LiveScheduler:
    return scheduler_row()


@pytest.fixture
def live_with_decisions(live: LiveScheduler, monkeypatch: pytest.MonkeyPatch) -> LiveScheduler:
    """40 decisions, a second apart; the oldest three name ``rare`` in their message."""
    monkeypatch.setattr(pagination, "MOST_LOOKED_AT", ROWS_LOOKED_AT)
    LiveDecision.objects.bulk_create(
        LiveDecision(
            id=uuid.UUID(int=number + 1),
            scheduler=live,
            at=NOW - timedelta(seconds=number),
            namespace="team-a" if number % 2 else "team-b",
            name=f"pod-{number}",
            uid=f"uid-{number}",
            node=f"node-{number % 4}",
            result=Result.BOUND,
            message="a rare one" if number >= 37 else "",
        )
        for number in range(40)
    )
    return live


def explain_rows(rows: models.QuerySet[Any]) -> str:
    """Return the database's plan for ``rows``, kept from sorts and table scans however few rows there are here."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for method in ("seqscan", "sort", "incremental_sort", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{method} = off")
    return str(rows.explain())


def order_rows(rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    return rows.order_by(*(key.order() for key in keys_of(rows)))[:51]


@pytest.mark.parametrize(
    ("filterset", "query", "index"),
    [
        (DecisionFilter, "", "decision_newest"),
        (DecisionFilter, "namespace=a", "decision_by_namespace"),
        (DecisionFilter, "node=a", "decision_by_node"),
        (DecisionFilter, "result=bound", "decision_result_newest"),
        (DecisionFilter, "since=2026-01-01&until=2026-01-02", "decision_newest"),
        (DecisionFilter, "node=a&search=b", "decision_by_node"),
        (VerdictFilter, "namespace=a", "shadow_by_namespace"),
        (VerdictFilter, "verdict=differ", "shadow_verdict_newest"),
        (RequestFilter, "", "request_newest"),
        (RequestFilter, "state=denied", "request_by_state"),
        (RequestFilter, "namespace=a", "request_by_namespace"),
        (RequestFilter, "since=2026-01-01", "request_newest"),
        (AuditFilter, "actor=a", "audit_by_actor"),
        (AuditFilter, "object_name=a", "audit_by_name"),
        (AuditFilter, "object_type=job", "audit_by_kind"),
        (AuditFilter, "verb=job.started", "audit_by_verb"),
        (AuditFilter, "verb=job", "accounts_auditentry_at"),
        (AuditFilter, "since=2026-01-01", "accounts_auditentry_at"),
        (JobFilter, "", "job_newest"),
        (JobFilter, "state=failed", "jobs_job_state|job_newest"),
        (JobFilter, "search=a", "job_newest"),
    ],
)
def test_an_index_finds_the_rows_of_each_filter(
    live: LiveScheduler, filterset: Any, query: str, index: str, rf: RequestFactory, viewer: User
) -> None:
    model = filterset.Meta.model
    AuditEntry.objects.create(actor_name="a", verb="job.started", object_type="job", object_id="1", object_name="a")
    rows = model.objects.all()
    if model in (LiveDecision, ShadowVerdict):
        rows = rows.filter(scheduler=live)
    elif model is ApprovalRequest:
        rows = request_list()
    request = rf.get("/")
    request.user = viewer
    filtered = filterset(QueryDict(query), queryset=rows, request=request)
    assert filtered.is_valid(), filtered.errors
    plan_text = explain_rows(order_rows(filtered.indexed_rows if filtered.indexed_rows is not None else filtered.qs))
    # Of two that would do, the database takes the one that its statistics speak for.
    assert any(name in plan_text for name in index.split("|")), plan_text


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (lambda live: Delivery.objects.filter(endpoint=uuid.uuid4()), "delivery_newest"),
        (lambda live: LiveDecision.objects.filter(scheduler=live, has_columns=True), "decision_with_columns"),
        (lambda live: Job.objects.filter(state__in=UNFINISHED).order_by(), "jobs_job_state"),
        (lambda live: ApprovalRequest.objects.filter(decided_at__gt=NOW).order_by("decided_at"), "request_decided"),
        # A range, since any index on the scheduler is as cheap for one pod where there are no rows.
        (lambda live: ApprovalRequest.objects.filter(scheduler=live, uid__gte="u").order_by("uid"), "request_by_uid"),
    ],
)
def test_an_index_finds_what_else_pages_and_schedulers_look_for(
    live: LiveScheduler, rows: Callable[[LiveScheduler], models.QuerySet[Any]], index: str
) -> None:
    assert index in (plan_text := explain_rows(rows(live)[:51])), plan_text


def test_a_deep_page_begins_in_the_index_where_the_last_one_ended(live: LiveScheduler) -> None:
    """Without a plain bound on the time, every row before would be read and thrown away."""
    rows = LiveDecision.objects.filter(scheduler=live)
    keys = keys_of(rows)
    place = [NOW.isoformat(), str(uuid.uuid4())]
    plan_text = explain_rows(order_rows(rows.filter(rows_beyond(keys, place))))
    begins = "at<?" if connection.vendor == "sqlite" else "Index Cond: ((scheduler_id ="
    assert "decision_newest" in plan_text, plan_text
    assert begins in plan_text, plan_text
    assert connection.vendor == "sqlite" or "(at <=" in plan_text, plan_text


def test_a_search_looks_at_so_many_rows_and_leads_on_from_there(
    live_with_decisions: LiveScheduler, client_as: Any
) -> None:
    client: Client = client_as("viewer")
    address, pages = f"/live/{live_with_decisions.pk}/?search=rare", []
    cursor = ""
    while True:
        page = client.get(address, {"search": "rare", "cursor": cursor}).context["page"]
        pages.append([row.name for row in page.rows])
        if page.following is None:
            break
        assert page.reached == NOW - timedelta(seconds=ROWS_LOOKED_AT * len(pages) - 1)
        cursor = page.following
    assert pages[:4] == [[], [], [], ["pod-37", "pod-38", "pod-39"]]
    assert not any(pages[4:])  # the 40th row was the last that it looked at: one more page finds the end
    page = client.get(address)
    page_words = text(page)
    oldest_looked_at = NOW - timedelta(seconds=ROWS_LOOKED_AT - 1)
    assert "Nothing matches among the decisions back to" in page_words
    assert f">{oldest_looked_at:%Y-%m-%d %H:%M:%S} UTC</time>." in page_words
    assert elements(page, "nav.pagination a[rel=next]")


def test_over_rest_the_next_link_leads_on(live_with_decisions: LiveScheduler, api_as: Any) -> None:
    api: APIClient = api_as("viewer")
    address, names, requests = f"/api/v1/live/{live_with_decisions.pk}/decisions/?search=rare", [], 0
    while address:
        answer = api.get(address).json()
        names += [row["name"] for row in answer["results"]]
        address, requests = answer["next"], requests + 1
    assert names == ["pod-37", "pod-38", "pod-39"]
    assert requests in (4, 5)


def test_an_index_reaches_everything_at_once(live_with_decisions: LiveScheduler, client_as: Any) -> None:
    page = client_as("viewer").get(f"/live/{live_with_decisions.pk}/?node=node-1").context["page"]
    assert [row.name for row in page.rows] == [f"pod-{number}" for number in range(1, 40, 4)]
    assert page.reached is None


def test_what_is_searched_for_is_found_once_wherever_pages_end(live_with_decisions: LiveScheduler) -> None:
    rows = LiveDecision.objects.filter(scheduler=live_with_decisions)
    matching, rows_seen, cursor = rows.filter(node__in=("node-1", "node-3")), [], ""
    while True:
        page = cursor_page(matching, cursor, 3, indexed_rows=rows)
        assert len(page.rows) <= 3
        rows_seen += page.rows
        if page.following is None:
            break
        cursor = page.following
    assert rows_seen == list(matching)


def test_rows_of_one_time_are_not_lost_where_a_page_stops_looking(
    live: LiveScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "MOST_LOOKED_AT", 3)
    Job.objects.bulk_create(Job(kind="x", title="same") for _ in range(11))
    Job.objects.update(created_at=NOW)
    rows = Job.objects.all()
    assert [key for (key,) in in_pieces(rows.filter(title="same"), ["pk"], 100, indexed_rows=rows)] == [
        job.pk for job in rows
    ]


def test_how_many_came_since_is_counted_among_the_newest(
    live_with_decisions: LiveScheduler, client_as: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("kschedweb.live.schedulers.views.MOST_LOOKED_AT", ROWS_LOOKED_AT)
    opened_at = (NOW - timedelta(days=1)).isoformat()
    fragment = client_as("viewer").get(f"/live/{live_with_decisions.pk}/now/", {"search": "pod", "opened": opened_at})
    assert fragment.context["new"] == ROWS_LOOKED_AT


def csv_lines(response: HttpResponseBase) -> list[list[str]]:
    return list(csv.reader("".join(part.decode() for part in response).splitlines()))  # type: ignore[attr-defined]


def test_a_file_is_read_in_pieces_without_models(
    live_with_decisions: LiveScheduler, client_as: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "PIECE", 15)
    client = client_as("viewer")
    response = client.get(f"/live/{live_with_decisions.pk}/?format=csv")
    with CaptureQueriesContext(connection) as queries:
        rows_exported = csv_lines(response)
    assert [line[2] for line in rows_exported] == ["name", *(f"pod-{number}" for number in range(40))]
    read = [query["sql"] for query in queries if "scheduling_livedecision" in query["sql"]]
    assert len(read) == 3
    assert not any('"top"' in sql for sql in read)
    rows_searched = csv_lines(client.get(f"/live/{live_with_decisions.pk}/?format=csv&search=rare"))
    assert [line[2] for line in rows_searched] == ["name", "pod-37", "pod-38", "pod-39"]


def test_a_file_is_sent_while_it_is_read() -> None:
    """Under ASGI Django would read all of a plain iterator first: of this one, for ever."""
    response = csv_response("all.csv", ["number"], ([number] for number in itertools.count()))

    async def begin() -> list[bytes]:
        parts: AsyncIterator[bytes] = aiter(Handler()._detach_response(response))  # type: ignore[arg-type]
        return [await anext(parts), await anext(parts)]

    head, first = loops.run(asyncio.wait_for(begin(), 30))
    assert head == b"number\r\n"
    assert first.startswith(b"0\r\n1\r\n")


def test_audit_is_found_without_regard_to_case(client_as: Any, admin: Any) -> None:
    AuditEntry.objects.create(
        actor_name="Ada", verb="policy.saved", object_type="policy", object_id="1", object_name="Night"
    )
    client = client_as("admin")
    for query in (
        "actor=aDA",
        "object_name=NIGHT",
        "object_type=Policy",
        "verb=Policy.Saved",
        "verb=POLI",
        "search=night",
    ):
        entries = client.get(f"/audit/?{query}").context["page"].rows
        assert [entry.verb for entry in entries] == ["policy.saved"], query
    assert place_of(entries[0], keys_of(AuditEntry.objects.all()))[0]
