"""Decisions on their way into the database, and how long they are kept."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from kschedweb.engine.live import Decision, RankedNode
from kschedweb.engine.releases import CURRENT
from kschedweb.live.schedulers import selectors
from kschedweb.live.schedulers.decisions import log as decisionlog
from kschedweb.live.schedulers.decisions.log import DecisionColumns, DecisionLog, DecisionResult, records_write
from kschedweb.live.schedulers.decisions.retention import decisions_clean
from kschedweb.live.schedulers.decisions.rows import decision_id, decision_row
from kschedweb.live.schedulers.metrics import Instruments
from kschedweb.live.schedulers.models import LiveColumns, LiveDecision, LiveScheduler, Result
from kschedweb.live.schedulers.running.figures import RunFigures
from kschedweb.live.schedulers.running.ledger import Ledger, LedgerContext
from tests.live.schedulers.judging import judged

TODAY = round(time.time()) - 100.0


def decision(number: int = 1, *, uid: str = "", at: float = TODAY) -> Decision:
    return Decision(
        pod=f"default/pod-{number}",
        uid=uid or f"uid-{number}",
        time=at + number,
        profile="kschedweb",
        node="node-1",
        evaluated=3,
        feasible=2,
        top=(RankedNode("node-1", 120, {"ImageLocality": 20, "NodeResourcesFit": 100}),),
        margin=4,
        durations={"Filter": 0.001},
    )


def row(live: LiveScheduler, number: int = 1, result: Result = Result.BOUND, at: float = TODAY) -> LiveDecision:
    revision = live.policy.revisions.get().pk
    return decision_row(live.pk, decision(number, at=at), result, epoch=7, revision=revision, engine=CURRENT.engine)


def ended(row: LiveDecision) -> LiveDecision:
    row.ended_at = row.at
    return row


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_decision_is_kept_as_it_was_made(live: LiveScheduler) -> None:
    records_write(live.pk, [row(live)])
    stored = LiveDecision.objects.get()
    assert (stored.pod, stored.uid, stored.node, stored.evaluated, stored.feasible) == (
        "default/pod-1",
        "uid-1",
        "node-1",
        3,
        2,
    )
    assert stored.top == [{"node": "node-1", "total": 120, "scores": {"ImageLocality": 20, "NodeResourcesFit": 100}}]
    assert (stored.margin, stored.durations, stored.epoch, stored.engine) == (4, {"Filter": 0.001}, 7, CURRENT.engine)
    assert stored.pk == decision_id(live.pk, decision())


def test_writing_a_batch_again_after_a_crash_changes_nothing(live: LiveScheduler) -> None:
    on_hold = row(live, result=Result.ON_HOLD)
    outcome = DecisionResult(on_hold.pk, Result.BOUND, timezone.now(), latency=1.5)
    records_write(live.pk, [on_hold, outcome])
    records_write(live.pk, [row(live, result=Result.ON_HOLD)])
    stored = LiveDecision.objects.get()
    assert (stored.result, stored.latency) == (Result.BOUND, 1.5)


def test_the_first_end_of_a_decision_counts(live: LiveScheduler) -> None:
    on_hold = row(live, result=Result.ON_HOLD)
    records_write(
        live.pk, [on_hold, DecisionResult(on_hold.pk, Result.DENIED, timezone.now(), "denied by ann: too large")]
    )
    records_write(live.pk, [DecisionResult(on_hold.pk, Result.UNSCHEDULABLE, timezone.now(), "something else")])
    stored = LiveDecision.objects.get()
    assert (stored.result, stored.message) == (Result.DENIED, "denied by ann: too large")


def test_columns_belong_to_a_decision_that_is_kept(live: LiveScheduler) -> None:
    records_write(live.pk, [row(live), DecisionColumns(decision_id(live.pk, decision()), lambda: b"packed")])
    records_write(live.pk, [DecisionColumns(uuid.uuid4(), lambda: b"of none")])
    assert [bytes(columns.content) for columns in LiveColumns.objects.all()] == [b"packed"]
    assert LiveDecision.objects.get().has_columns


def test_what_belongs_to_a_deleted_scheduler_is_let_go(live: LiveScheduler) -> None:
    orphan = row(live)
    live.delete()
    records_write(orphan.scheduler_id, [orphan])
    assert not LiveDecision.objects.exists()


def test_only_so_many_decisions_of_so_many_days_are_kept_and_columns_of_the_newest(live: LiveScheduler) -> None:
    now = timezone.now()
    young, old = TODAY, (now - timedelta(days=40)).timestamp()
    records_write(live.pk, [ended(row(live, number, at=young)) for number in range(5)])
    records_write(live.pk, [ended(row(live, 10 + number, at=old)) for number in range(3)])
    ids = [decision_id(live.pk, decision(number, at=young)) for number in range(5)]
    records_write(live.pk, [DecisionColumns(decision_pk, lambda: b"x") for decision_pk in ids])
    LiveScheduler.objects.filter(pk=live.pk).update(keep_columns=2, keep_decisions=100)
    assert decisions_clean(now=now) == 3
    assert LiveDecision.objects.count() == 5
    assert set(LiveColumns.objects.values_list("decision_id", flat=True)) == set(ids[-2:])
    assert LiveDecision.objects.filter(has_columns=True).count() == 2
    LiveScheduler.objects.filter(pk=live.pk).update(keep_decisions=3)
    decisions_clean(now=now)
    assert set(LiveDecision.objects.values_list("pk", flat=True)) == set(ids[-3:])


def test_what_a_person_is_asked_about_is_kept_in_full_and_bound_pods_displace_no_others(live: LiveScheduler) -> None:
    old = TODAY - 40 * 86400
    on_hold, fits_nowhere = row(live, 1, Result.ON_HOLD, at=old), ended(row(live, 2, Result.UNSCHEDULABLE))
    bound = [ended(row(live, number)) for number in range(3, 8)]
    rows = [on_hold, fits_nowhere, *bound]
    records_write(live.pk, [*rows, *(DecisionColumns(stored.pk, lambda: b"x") for stored in rows)])
    LiveScheduler.objects.filter(pk=live.pk).update(keep_columns=2, keep_decisions=6)
    decisions_clean()
    expected = {on_hold.pk, fits_nowhere.pk, bound[-1].pk, bound[-2].pk}
    assert set(LiveColumns.objects.values_list("decision_id", flat=True)) == expected
    records_write(live.pk, [DecisionResult(on_hold.pk, Result.DENIED, timezone.now())])
    decisions_clean()
    assert not LiveDecision.objects.filter(pk=on_hold.pk).exists()


def test_another_try_of_the_pod_that_came_to_the_same_stands_for_one_without_columns(live: LiveScheduler) -> None:
    tries = [ended(row(live, 1, Result.UNSCHEDULABLE, at=TODAY - 60 * number)) for number in range(4)]
    for attempt, message in zip(tries, ("full", "full", "full", "tainted"), strict=True):
        attempt.message, attempt.node = message, ""
    records_write(live.pk, [*tries, *(DecisionColumns(attempt.pk, lambda: b"x") for attempt in tries[1:])])
    assert selectors.same_result(tries[0]) == tries[1]
    assert selectors.same_result(tries[3]) is None


def explained(live: LiveScheduler, *tries: tuple[Decision, bool], keep: int = 100) -> list[uuid.UUID]:
    """Of which tries every verdict is kept, where there is never any time; each with whether it is held."""
    log = DecisionLog(live.pk)
    books = LedgerContext(
        live.pk, "kschedweb", live.policy.revisions.get().pk, keep_columns=keep, engine=CURRENT.engine
    )
    ledger = Ledger(books, log, RunFigures(), Instruments("c", "kschedweb", "lease"))
    ledger._budget, seconds = 0.0, itertools.count(0.0, 10.0)
    judged_pod = judged("pending-00000")
    for attempt, is_held in tries:
        ledger.explain_decision(attempt, lambda: judged_pod, 0.0, lambda: next(seconds), idle=False, is_held=is_held)
    return [record.decision for record in log._waiting if isinstance(record, DecisionColumns)]


def test_what_is_held_and_new_reasons_are_explained_however_little_time_there_is(live: LiveScheduler) -> None:
    full = replace(decision(1), node="", message="full")
    repeated, tainted = replace(full, time=full.time + 1), replace(full, time=full.time + 2, message="tainted")
    bound, on_hold = decision(2), decision(3)
    tries = [(bound, False), (full, False), (repeated, False), (tainted, False), (on_hold, True)]
    assert explained(live, *tries) == [decision_id(live.pk, attempt) for attempt in (full, tainted, on_hold)]
    assert explained(live, *tries, keep=0) == [decision_id(live.pk, on_hold)]
    # Before the one that is kept is displaced, it is explained anew.
    other_pods = [replace(full, uid="other", message=text) for text in ("a", "b")]
    tries = [(attempt, False) for attempt in (full, *other_pods, repeated)]
    assert [len(explained(live, *tries, keep=keep)) for keep in (100, 4)] == [3, 4]


@pytest.mark.django_db(transaction=True)
def test_records_wait_while_the_database_is_away_and_are_written_in_their_order(
    live: LiveScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, away = records_write, [True]

    def write(scheduler: uuid.UUID, batch: list[decisionlog.Record]) -> None:
        if away:
            raise OperationalError("the server is gone")
        really(scheduler, batch)

    monkeypatch.setattr(decisionlog, "records_write", write)
    monkeypatch.setattr(decisionlog, "WRITE_INTERVAL", 0.01)
    monkeypatch.setattr(decisionlog, "LONGEST_WAIT", 0.02)
    log = DecisionLog(live.pk)
    log.start()
    on_hold = row(live, result=Result.ON_HOLD)
    log.add(on_hold)
    wait_until(lambda: log.away)
    log.add(DecisionResult(on_hold.pk, Result.BOUND, timezone.now()))
    away.clear()
    wait_until(lambda: log.waiting == 0 and not log.away)
    log.stop(5)
    assert LiveDecision.objects.get().result == Result.BOUND
    assert log.lost == 0


@pytest.mark.django_db(transaction=True)
def test_one_record_that_cannot_be_written_does_not_take_others_with_it(
    live: LiveScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> bytes:
        raise ValueError("cannot be packed")

    log = DecisionLog(live.pk)
    for number in range(3):
        log.add(row(live, number))
    log.add(DecisionColumns(decision_id(live.pk, decision(1)), broken))
    log.add(row(live, 4))
    log.start()
    wait_until(lambda: log.waiting == 0)
    log.stop(5)
    assert LiveDecision.objects.count() == 4
    assert log.lost == 1


def test_beyond_a_bound_the_oldest_records_make_room(live: LiveScheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisionlog, "MOST_WAITING", 3)
    log = DecisionLog(live.pk)
    for number in range(5):
        log.add(row(live, number))
    assert (log.waiting, log.lost) == (3, 2)
