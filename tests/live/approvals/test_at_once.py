"""People, time and leaders at the very same moment, each with a database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection

from kschedweb.accounts.models import User
from kschedweb.live.approvals import services
from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState
from kschedweb.web.errors import ApplicationError
from tests.live.approvals.conftest import hold, scheduler_row

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start the calls together in threads and return their results; refusals are returned as they are."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            gate.wait(20)
            return call()
        except ApplicationError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_no_more_approvals_are_taken_than_are_asked_for() -> None:
    row = hold(scheduler_row(), approvals=[{"role": "approver", "count": 2}])
    people = [User.objects.create_user(username=f"person-{number}", role="approver") for number in range(4)]

    def approve(user: User) -> Callable[[], Any]:
        return lambda: services.request_decide(user=user, request_id=row.pk, verdict="approve")

    outcomes = at_once([approve(user) for user in people])
    assert sorted(outcome.status for outcome in outcomes if isinstance(outcome, ApplicationError)) == [409, 409]
    row.refresh_from_db()
    assert (row.state, row.votes.count()) == (ApprovalState.APPROVED, 2)


def test_an_approval_and_a_denial_never_both_count() -> None:
    live = scheduler_row()
    people = [User.objects.create_user(username=name, role="approver") for name in ("yes", "no")]
    for number in range(5):
        row = hold(live, f"pod-{number}")
        calls = [
            partial(services.request_decide, user=user, request_id=row.pk, verdict=verdict, reason="so")
            for user, verdict in zip(people, ("approve", "deny"), strict=True)
        ]
        refused = [outcome for outcome in at_once(calls) if isinstance(outcome, ApplicationError)]
        assert len(refused) == 1
        row.refresh_from_db()
        assert row.votes.count() == 1
        assert row.state == (ApprovalState.APPROVED if row.votes.get().verdict == "approve" else ApprovalState.DENIED)


def test_of_leaders_that_ask_at_once_the_newest_ones_request_stays() -> None:
    live = scheduler_row()

    def ask(epoch: int) -> Callable[[], Any]:
        return lambda: services.request_open(
            scheduler=live,
            namespace="default",
            name="p",
            uid="uid-p",
            node=f"node-{epoch}",
            plugin="HumanApproval",
            decision_id=f"of-{epoch}",
            decision={},
            ask={"approvals": [{"role": "approver", "count": 1}]},
            seconds=60.0,
            epoch=epoch,
        )

    for _ in range(5):
        at_once([ask(1), ask(2), ask(3)])
        assert list(ApprovalRequest.objects.filter(open=True).values_list("epoch", "node")) == [(3, "node-3")]
        ApprovalRequest.objects.all().delete()
