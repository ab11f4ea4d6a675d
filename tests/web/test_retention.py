"""Every table that grows by itself is cleaned up: what is old goes in small steps, what is open stays."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry, ProviderSession
from kschedweb.advice.autoscaling.models import Question as AutoscalingQuestion
from kschedweb.advice.moves.models import Question as DeschedulingQuestion
from kschedweb.advice.plans.models import Question as PlansQuestion
from kschedweb.celery import app
from kschedweb.decisions.models import Question as DecisionQuestion
from kschedweb.fleet.models import FleetTrial
from kschedweb.jobs.models import IdempotencyKey, Job
from kschedweb.jobs.retention import clean_up
from kschedweb.live.approvals.models import ApprovalRequest, Delivery, Endpoint, Vote
from kschedweb.live.schedulers.decisions.log import DecisionLog
from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler, Result
from kschedweb.live.shadow.models import ShadowVerdict
from kschedweb.playground.capacity.models import Question as CapacityQuestion
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.migration.models import Question
from kschedweb.playground.trying.models import TriedChange
from kschedweb.web import deletion, retention
from tests.conftest import person
from tests.live.approvals.conftest import hold, scheduler_row

if TYPE_CHECKING:
    from django.db.models import Model

pytestmark = [pytest.mark.django_db, pytest.mark.databases]
OPERATIONS = Path(settings.BASE_DIR, "docs", "operations.md")
# Rows that people make and delete, that are few, or that go with a row they belong to.
KEPT_MODELS = {
    "clusters.AllowedAddress",
    *("accounts.Grant", "accounts.Token", "accounts.User", "jobs.Pulse"),
    *("approvals.Endpoint", "approvals.EndpointSecret"),
    *("auth.Group", "auth.Permission", "axes.AccessAttemptExpiration", "contenttypes.ContentType"),
    *("clusters.Cluster", "clusters.Credential", "clusters.NodeRow", "clusters.PodRow", "clusters.Snapshot"),
    # A ring: each cluster keeps a bounded number.
    "clusters.EventRow",
    *("lists.SavedView", "experiments.Recording", "extender.Endpoint", "policies.Policy", "policies.Revision"),
    *("prices.PriceSheet", "flight.FlightRecorder"),
    *("repositories.Repository", "repositories.RepositoryCommit", "repositories.RepositoryFile"),
    *("repositories.RepositorySecret", "repositories.StatusToken", "repositories.RevisionCommit"),
    *("mfa.Authenticator", "socialaccount.SocialAccount"),
    # django-allauth brings them; nothing of this site writes them.
    *("account.EmailAddress", "account.EmailConfirmation", "socialaccount.SocialApp", "socialaccount.SocialToken"),
    *("scenarios.Scenario", "scenarios.ScenarioFile", "scenarios.ScenarioRevision"),
    *("scheduling.Candidate", "scheduling.LiveScheduler"),
    *("watermarks.Annotating", "watermarks.Members", "watermarks.Series", "watermarks.WatermarkCredential"),
    "watermarks.WatermarkSource",
}
WITH_ANOTHER = {
    *("approvals.Vote", "experiments.Run", "recordings.Chunk", "runs.Difference", "scheduling.LiveColumns"),
    *(
        "clusters.UploadPiece",
        "decisions.PendingOutcomes",
        "fleet.Standing",
        "flight.Stretch",
        "plans.Trial",
        "sweeps.Trial",
    ),
    "watermarks.ContainerBook",
}


def ago(days: float) -> Any:
    return timezone.now() - timedelta(days=days)


def at(row: Model, **times: Any) -> Model:
    type(row)._default_manager.filter(pk=row.pk).update(**times)
    return row


def request(name: str, days: float, *, open: bool = False) -> Model:
    row = hold(LiveScheduler.objects.first() or scheduler_row(), name)
    Vote.objects.create(request=row, user=person("approver"), role="approver", verdict="deny", at=ago(days))
    state = "waiting" if open else "denied"
    return at(row, asked_at=ago(days), ended_at=None if open else ago(days), open=open, state=state)


def delivery(days: float, state: str) -> Model:
    endpoint, _ = Endpoint.objects.get_or_create(name="chat", defaults={"url": "https://chat.example.com/"})
    return Delivery.objects.create(endpoint=endpoint, event="test", body="{}", state=state, created_at=ago(days))


def job(days: float, state: str = "succeeded") -> Job:
    row = Job.objects.create(kind="x", title="x", state=state)
    at(row, created_at=ago(days), ended_at=ago(days) if state == "succeeded" else None)
    return row


def audit(days: float) -> Model:
    row = AuditEntry.objects.create(actor_name="a", verb="b", object_type="c", object_id="d", object_name="e")
    return at(row, at=ago(days))


def gate(days: float, **fields: Any) -> Model:
    row = Gate.objects.create(policy="p", policy_document="", about="x", place="x", seed=1, **fields)
    return at(row, created_at=ago(days))


def question(days: float, **fields: Any) -> Model:
    row = Question.objects.create(classic_label="c", converted=True, profile_label="p", about="x", **fields)
    return at(row, created_at=ago(days))


def capacity_question(days: float, **fields: Any) -> Model:
    row = CapacityQuestion.objects.create(kind="fit", asked={}, about="x", policy="p", **fields)
    return at(row, created_at=ago(days))


def descheduling_question(days: float, **fields: Any) -> Model:
    row = DeschedulingQuestion.objects.create(asked={}, about="x", policy="p", **fields)
    return at(row, created_at=ago(days))


def plans_question(days: float, **fields: Any) -> Model:
    row = PlansQuestion.objects.create(asked={}, about="x", policy="p", **fields)
    return at(row, created_at=ago(days))


def autoscaling_question(days: float, **fields: Any) -> Model:
    row = AutoscalingQuestion.objects.create(about="x", policy="p", **fields)
    return at(row, created_at=ago(days))


def decision_question(days: float, **fields: Any) -> Model:
    row = DecisionQuestion.objects.create(kind="decision", asked={}, about="x", policy="p", **fields)
    return at(row, created_at=ago(days))


def tried_change(days: float, **fields: Any) -> Model:
    row = TriedChange.objects.create(policy="p", base_document="", document="", change="c", about="x", **fields)
    return at(row, created_at=ago(days))


def fleet_trial(days: float, **fields: Any) -> Model:
    return at(FleetTrial.objects.create(policy="p", instead="q", **fields), created_at=ago(days))


def session(days: float) -> Model:
    return Session.objects.create(session_key=uuid.uuid4().hex, session_data="x", expire_date=ago(days))


def provider_session(days: float) -> Model:
    user, key, now = person("viewer"), uuid.uuid4().hex, timezone.now()
    return ProviderSession.objects.create(
        user=user, provider="company", subject="s", session_key=key, asked_at=now, answered_at=now, expires_at=ago(days)
    )


def key(days: float) -> Model:
    return IdempotencyKey.objects.create(user=person("viewer"), key=uuid.uuid4().hex, digest="d", created_at=ago(days))


def login(model: type[Model], days: float, **fields: Any) -> Model:
    return at(model._default_manager.create(username="u", ip_address="192.0.2.1", **fields), attempt_time=ago(days))


# What goes, and what stays: old and new, ended and open.
CASES: dict[str, tuple[Callable[[], Model], tuple[Callable[[], Model], ...]]] = {
    "accounts.AuditEntry": (lambda: audit(401), (lambda: audit(399),)),
    "approvals.ApprovalRequest": (
        lambda: request("old", 401),
        (lambda: request("young", 399), lambda: request("open", 500, open=True)),
    ),
    "approvals.Delivery": (
        lambda: delivery(31, "failed"),
        (lambda: delivery(29, "delivered"), lambda: delivery(40, "pending")),
    ),
    "jobs.Job": (lambda: job(91), (lambda: job(89), lambda: job(100, "running"), lambda: job(100, "queued"))),
    "jobs.IdempotencyKey": (lambda: key(1.1), (lambda: key(0.9),)),
    "gate.Gate": (
        lambda: gate(91, ended_at=ago(91)),
        (lambda: gate(89, ended_at=ago(89)), lambda: gate(100, job=job(1, "running"))),
    ),
    "moves.Question": (
        lambda: question(91, job=job(1)),
        (lambda: question(89), lambda: question(100, job=job(1, "queued"))),
    ),
    "decisions.Question": (
        lambda: decision_question(91, job=job(1)),
        (lambda: decision_question(89), lambda: decision_question(100, job=job(1, "queued"))),
    ),
    "trying.TriedChange": (
        lambda: tried_change(91, job=job(1)),
        (lambda: tried_change(89), lambda: tried_change(100, job=job(1, "queued"))),
    ),
    "fleet.FleetTrial": (
        lambda: fleet_trial(91, job=job(1)),
        (lambda: fleet_trial(89), lambda: fleet_trial(100, job=job(1, "queued"))),
    ),
    "capacity.Question": (
        lambda: capacity_question(91, job=job(1)),
        (lambda: capacity_question(89), lambda: capacity_question(100, job=job(1, "queued"))),
    ),
    "descheduling.Question": (
        lambda: descheduling_question(91, job=job(1)),
        (lambda: descheduling_question(89), lambda: descheduling_question(100, job=job(1, "queued"))),
    ),
    "plans.Question": (
        lambda: plans_question(91, job=job(1)),
        (lambda: plans_question(89), lambda: plans_question(100, job=job(1, "queued"))),
    ),
    "autoscaling.Question": (
        lambda: autoscaling_question(91, job=job(1)),
        (lambda: autoscaling_question(89), lambda: autoscaling_question(100, job=job(1, "queued"))),
    ),
    "accounts.ProviderSession": (lambda: provider_session(0.01), (lambda: provider_session(-1),)),
    "sessions.Session": (lambda: session(0.01), (lambda: session(-1),)),
    "axes.AccessLog": (lambda: login(AccessLog, 91), (lambda: login(AccessLog, 89),)),
    "axes.AccessAttempt": (
        lambda: login(AccessAttempt, 91, failures_since_start=1, user_agent="a"),
        (lambda: login(AccessAttempt, 89, failures_since_start=1, user_agent="b"),),
    ),
    "axes.AccessFailureLog": (lambda: login(AccessFailureLog, 91), (lambda: login(AccessFailureLog, 89),)),
}


@pytest.mark.parametrize("table", CASES)
def test_what_is_old_goes_and_what_is_young_or_open_stays(table: str) -> None:
    make_old, stay = CASES[table]
    old, kept_keys = make_old(), {make_row().pk for make_row in stay}
    assert retention.rows_delete()[table] == 1
    assert {row.pk for row in type(old)._default_manager.all()} == kept_keys


@pytest.mark.parametrize("table", sorted(CASES))
def test_nought_days_are_for_ever(table: str, settings: Any) -> None:
    settings.KEEP_DAYS = dict.fromkeys(settings.KEEP_DAYS, 0)
    rule = next(rule for rule in retention.RULES if rule.model == table)
    CASES[table][0]()
    assert rule.delete_expired() == (0 if isinstance(rule.keep, str) else 1)


def test_every_rule_but_those_of_what_people_made_has_a_case() -> None:
    assert {rule.model for rule in retention.RULES if rule.keep != "work"} == set(CASES)
    assert settings.KEEP_DAYS["work"] == 0


def test_every_table_is_cleaned_up_or_said_to_be_kept() -> None:
    """A new table is thought of."""
    tables = {model._meta.label for model in apps.get_models()}
    assert tables == set(retention.CLEANINGS) | KEPT_MODELS | WITH_ANOTHER


def test_the_operators_page_names_every_setting_and_default() -> None:
    text = OPERATIONS.read_text(encoding="utf-8")
    for name, days in settings.KEEP_DAYS.items():
        assert f"`KSCHEDWEB_KEEP_{name.upper()}_DAYS` | {days}" in text


def test_beat_asks_for_it_also_by_the_names_of_the_release_before() -> None:
    scheduled_tasks = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    app.loader.import_default_modules()
    assert "kschedweb.retention.clean" in scheduled_tasks & set(app.tasks)
    for name in ("approvals.webhooks", "shadow", "watermarks"):
        assert app.tasks[f"kschedweb.{name}.tasks.forget"].run is clean_up


def test_what_fails_for_one_table_is_done_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise RuntimeError

    monkeypatch.setattr(retention, "CLEANINGS", {"a.Broken": fail, **retention.CLEANINGS})
    audit(401)
    assert retention.rows_delete() == {"accounts.AuditEntry": 1}


def add_decisions(live: LiveScheduler, count: int, *, days: float, **fields: Any) -> None:
    common_fields = {
        "scheduler": live,
        "namespace": "n",
        "uid": "u",
        "result": Result.BOUND,
        "ended_at": ago(days),
    } | fields
    LiveDecision.objects.bulk_create(
        LiveDecision(id=uuid.uuid4(), name=f"p-{number}", at=ago(days) - timedelta(seconds=number), **common_fields)
        for number in range(count)
    )


def test_many_go_in_steps_by_their_keys_and_no_more_than_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "BATCH", 20)
    monkeypatch.setattr(deletion, "MOST_BATCHES", 3)
    live = scheduler_row()
    add_decisions(live, 70, days=31)
    add_decisions(live, 1, days=31, result=Result.ON_HOLD, ended_at=None)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert retention.rows_delete() == {"scheduling.LiveDecision": 60}
    deleting = [query["sql"] for query in queries if query["sql"].startswith('DELETE FROM "scheduling_livedecision"')]
    assert len(deleting) == 3
    assert all('"scheduling_livedecision"."id" IN (' in sql for sql in deleting)
    assert retention.rows_delete() == {"scheduling.LiveDecision": 10}
    assert [row.result for row in LiveDecision.objects.all()] == [Result.ON_HOLD]


def test_with_nothing_to_delete_each_table_is_looked_at_once() -> None:
    live = scheduler_row()
    add_decisions(live, 5, days=1)
    with CaptureQueriesContext(connection) as queries:
        assert retention.rows_delete() == {}
    statements = [query["sql"] for query in queries]
    assert all(sql.startswith("SELECT") for sql in statements)
    for model in (AuditEntry, Job, Delivery, ApprovalRequest, Session, AccessLog):
        table_statements = [sql for sql in statements if sql.startswith(f'SELECT "{model._meta.db_table}"')]
        assert len(table_statements) == 1, model
    # Of decisions: those beyond the number, those too old, and columns of bound pods and of others.
    assert sum(f'FROM "{LiveDecision._meta.db_table}"' in sql for sql in statements) == 4
    assert sum(f'FROM "{ShadowVerdict._meta.db_table}"' in sql for sql in statements) == 2


@pytest.mark.django_db(transaction=True)
def test_the_thread_that_writes_records_deletes_nothing() -> None:
    live = scheduler_row()
    add_decisions(live, 3, days=400)
    log = DecisionLog(live.pk)
    log.start()
    log.add(LiveDecision(id=uuid.uuid4(), scheduler=live, at=ago(0), namespace="n", name="new", uid="u", result="held"))
    log.stop(30)
    assert LiveDecision.objects.count() == 4


def test_the_plan_of_deleting_by_age_is_an_index_and_no_sort() -> None:
    """Asked of the database itself: with rows or without, it begins at the oldest."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for method in ("seqscan", "sort", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{method} = off")
    for rule in retention.RULES:
        if rule.by_key or rule.keep == "work":
            continue
        model: Any = apps.get_model(rule.model)
        rows = model.objects.filter(rule.rows, **{f"{rule.time}__lt": timezone.now()}).order_by(rule.time)[:1000]
        plan = rows.explain()
        assert "USE TEMP B-TREE" not in plan, (rule, plan)
        assert "Sort" not in plan, (rule, plan)
        assert "INDEX" in plan.upper(), (rule, plan)
