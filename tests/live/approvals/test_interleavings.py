"""Whatever votes, times, restarts and rival leaders do in whatever order: one bind at most, and none unapproved."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.live.approvals import rules, services
from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState, VoteVerdict
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.live.schedulers.running.gates import Decided, get_gate
from kschedweb.web.errors import ApplicationError
from tests.conftest import person
from tests.live.approvals.conftest import asking, deciding, scheduler_row

pytestmark = pytest.mark.django_db
NUMBERS = itertools.count()
ASKS = st.fixed_dictionaries(
    {
        "approvals": st.sampled_from(
            (
                [{"role": "approver", "count": 1}],
                [{"role": "approver", "count": 1}, {"role": "admin", "count": 1}],
                [{"role": "admin", "count": 1}],
            )
        ),
        "onTimeout": st.sampled_from(("Deny", "Allow")),
    }
)
EPOCHS = st.integers(1, 3)
STEPS = st.one_of(
    st.tuples(st.just("vote"), st.sampled_from(("viewer", "approver", "admin")), st.sampled_from(VoteVerdict.values)),
    st.tuples(st.just("time")),
    st.tuples(st.just("hold"), EPOCHS, st.sampled_from(("a", "b"))),
    st.tuples(st.just("look"), EPOCHS),
    st.tuples(st.just("permit"), EPOCHS),
    st.tuples(st.just("bind"), EPOCHS),
    st.tuples(st.just("restart"), EPOCHS),
    st.tuples(st.just("drop"), EPOCHS),
)


@dataclass
class Leader:
    """A process that leads, or thinks so: what it remembers is lost when it restarts."""

    held_node: str = ""  # the node that the pod waits for
    answer: Decided | None = None
    permitted: str = ""  # the node that it may bind the pod to


@dataclass
class World:
    """The pod at the API server, which binds a pod once, and the leaders by their epochs."""

    live: LiveScheduler
    uid: str
    ask: dict[str, Any]
    node: str = ""  # that the pod is bound to
    leaders: dict[int, Leader] = field(default_factory=lambda: {epoch: Leader() for epoch in (1, 2, 3)})
    permits: dict[str, list[int]] = field(default_factory=dict)  # request -> epochs that were permitted, in order

    def requests(self) -> list[ApprovalRequest]:
        return list(ApprovalRequest.objects.filter(scheduler=self.live))

    def vote(self, role: str, verdict: str) -> None:
        for row in self.requests():
            if row.open:
                try:
                    services.request_decide(user=person(role), request_id=row.pk, verdict=verdict, reason="so")
                except ApplicationError:
                    continue

    def time(self) -> None:
        """An hour passes."""
        for row in self.requests():
            hour = timedelta(hours=1)
            ApprovalRequest.objects.filter(pk=row.pk).update(
                asked_at=row.asked_at - hour, expires_at=row.expires_at - hour
            )

    def hold(self, epoch: int, node: str) -> None:
        services.request_open(
            scheduler=self.live,
            namespace="default",
            name="p",
            uid=self.uid,
            node=node,
            plugin="HumanApproval",
            decision_id=f"{epoch}-{node}",
            subject=f"on {node}",
            decision=deciding("default/p", node),
            ask=self.ask,
            seconds=1800.0,
            epoch=epoch,
        )
        self.leaders[epoch] = Leader(held_node=node)

    def look(self, epoch: int) -> None:
        """As the live run does: answers count for the pod that waits, on the node that it waits for."""
        leader = self.leaders[epoch]
        nodes = {request.request_id: request.node for request in get_gate().list_open(self.live)}
        for answer in get_gate().list_decided(self.live):
            if nodes.get(answer.request_id) == leader.held_node:
                leader.answer = answer

    def permit(self, epoch: int) -> None:
        leader = self.leaders[epoch]
        if leader.answer is None:
            return
        if leader.answer.verdict == "reject":
            self._ended(epoch, "rejected")
            self.leaders[epoch] = Leader()
        elif get_gate().may_bind(request_id=leader.answer.request_id, epoch=epoch):
            self.permits.setdefault(leader.answer.request_id, []).append(epoch)
            self.check_permitted(leader.answer.request_id)
            leader.permitted = leader.held_node

    def bind(self, epoch: int) -> None:
        leader = self.leaders[epoch]
        if leader.permitted:
            if not self.node:
                self.node = leader.permitted
                self._ended(epoch, "bound")
            else:
                self._ended(epoch, "bound" if self.node == leader.permitted else "superseded")
            self.leaders[epoch] = Leader()

    def restart(self, epoch: int) -> None:
        """Restore held requests from the rows."""
        self.leaders[epoch] = Leader()
        for request in get_gate().list_open(self.live):
            self.leaders[epoch].held_node = request.node

    def drop(self, epoch: int) -> None:
        self._ended(epoch, "superseded")
        self.leaders[epoch] = Leader()

    def _ended(self, epoch: int, state: Any) -> None:
        get_gate().record_end(scheduler=self.live, uid=self.uid, state=state, reason="so it went", epoch=epoch)

    def check_permitted(self, request_id: str) -> None:
        """It was approved by enough, or by its rule when its time was over; and nobody denied it."""
        row = ApprovalRequest.objects.get(pk=request_id)
        votes = list(row.votes.all())
        enough = not rules.missing_approvals(
            row.ask, [vote.role for vote in votes if vote.verdict == VoteVerdict.APPROVE]
        )
        by_time = row.ask["onTimeout"] == "Allow" and row.decided_by == "" and row.expires_at <= timezone.now()
        assert enough or by_time
        assert all(vote.verdict == VoteVerdict.APPROVE for vote in votes)
        assert all(vote.role != "viewer" for vote in votes)
        assert row.state == ApprovalState.BINDING

    def check(self) -> None:
        rows = self.requests()
        assert sum(row.open for row in rows) <= 1
        assert sum(row.state == ApprovalState.BOUND for row in rows) <= 1
        for row in rows:
            epochs = self.permits.get(str(row.pk), [])
            assert epochs == sorted(epochs)  # never again an earlier leader
            assert row.state != ApprovalState.BOUND or epochs
            assert row.open or row.ended_at is not None
        if self.node:
            bound = [row for row in rows if str(row.pk) in self.permits and row.node == self.node]
            assert bound, "the pod is bound to a node for which nobody was permitted"


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(ask=ASKS, steps=st.lists(STEPS, min_size=4, max_size=16))
def test_any_order_of_events_binds_at_most_once_and_only_what_was_approved(
    ask: dict[str, Any], steps: list[tuple[Any, ...]]
) -> None:
    number = next(NUMBERS)
    world = World(scheduler_row(scheduler=f"rival-{number}"), f"uid-{number}", asking(**ask))
    world.hold(1, "a")
    for name, *values in steps:
        getattr(world, name)(*values)
        world.check()


def test_the_straight_way_through_the_model_binds_the_pod() -> None:
    """Else the property above could hold for want of binds."""
    world = World(scheduler_row(), "uid", asking())
    for name, *values in (
        ("hold", 1, "a"),
        ("vote", "approver", "approve"),
        ("restart", 2),
        ("look", 2),
        ("permit", 2),
        ("bind", 2),
    ):
        getattr(world, str(name))(*values)
        world.check()
    assert world.node == "a"
    assert [row.state for row in world.requests()] == [ApprovalState.BOUND]
