"""Elections under a virtual clock: any interleaving of calls, losses and pauses, and never two that lead at once."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from kschedweb.live.schedulers.election.elector import Elector, Record
from tests.live.schedulers.election.elections import SECONDS, Contender, DirectLock, Elections, Server, Time


def elector(lock: DirectLock, name: str, clock: Time, **options: Any) -> Elector:
    return Elector(lock, name, clock=clock, wall_clock=clock, draw=lambda: 0.5, **options)


def test_a_second_candidate_waits_for_a_whole_lease_that_it_has_seen_unchanged() -> None:
    clock, server = Time(), Server()
    first, second = elector(DirectLock(server), "a", clock), elector(DirectLock(server), "b", clock)
    assert first.acquire_or_renew() == 2.0
    assert first.leading
    clock.now += 14.0
    assert second.acquire_or_renew() == pytest.approx(2.0 * 1.6)
    assert second.holder == "a"
    clock.now += 14.9
    second.acquire_or_renew()
    assert not second.leading
    clock.now += 0.1
    second.acquire_or_renew()
    assert second.leading
    assert (first.epoch, second.epoch) == (0, 1)


def test_a_leader_that_cannot_renew_leads_for_ten_seconds_from_its_last_good_call() -> None:
    clock, server = Time(), Server()
    lock = DirectLock(server)
    heard: list[str] = []
    leader = elector(
        lock,
        "a",
        clock,
        on_started_leading=lambda epoch: heard.append(f"+{epoch}"),
        on_stopped_leading=lambda: heard.append("-"),
    )
    leader.acquire_or_renew()
    lock.away = True
    clock.now += 9.9
    leader.acquire_or_renew()
    assert leader.leading
    assert leader.error == "OSError"
    clock.now += 0.1
    assert not leader.leading
    leader.acquire_or_renew()
    assert heard == ["+0", "-"]
    lock.away = False
    leader.acquire_or_renew()
    assert leader.leading
    assert heard == ["+0", "-", "+1"]
    assert lock.recorded_events == ["became leader", "stopped leading", "became leader"]


def test_giving_back_lets_the_next_lead_at_once_and_ends_the_work_first() -> None:
    clock, server = Time(), Server()
    order: list[str] = []

    def stopped() -> None:
        assert server.record is not None
        order.append(server.record.holder)

    first = elector(DirectLock(server), "a", clock, on_stopped_leading=stopped)
    second = elector(DirectLock(server), "b", clock)
    first.acquire_or_renew()
    second.acquire_or_renew()
    stop = threading.Event()
    stop.set()
    first.run(stop)
    assert order == ["a"]
    assert server.record is not None
    assert (server.record.holder, server.record.seconds, server.record.transitions) == ("", 1, 0)
    second.acquire_or_renew()
    assert second.leading


def test_a_renewal_keeps_the_time_of_the_first_and_the_number_of_transitions() -> None:
    clock, server = Time(), Server()
    leader = elector(DirectLock(server), "a", clock)
    leader.acquire_or_renew()
    clock.now += 2.0
    leader.acquire_or_renew()
    assert server.record == Record("a", 15, 1000.0, 1002.0, 0)


def test_epochs_go_on_after_those_of_another_lock() -> None:
    clock = Time()
    for server in (Server(), Server(Record("", 1, 0.0, 0.0, 2), 1)):
        candidate = Elector(DirectLock(server), "a", clock=clock, wall_clock=clock, last_epoch=7)
        candidate.acquire_or_renew()
        assert (candidate.leading, candidate.epoch) == (True, 8)


def test_the_lease_of_another_counts_as_long_as_it_says() -> None:
    clock, server = Time(), Server(Record("else", 60, 0.0, 0.0, 4), 1)
    candidate = elector(DirectLock(server), "a", clock)
    candidate.acquire_or_renew()
    clock.now += 59.0
    candidate.acquire_or_renew()
    assert not candidate.leading
    clock.now += 1.0
    candidate.acquire_or_renew()
    assert candidate.leading
    assert candidate.epoch == 5


@pytest.mark.parametrize("times", [(15, 15, 2), (15, 14.5, 2), (15, 10, 9), (0.5, 0.4, 0.1), (15, 10, 0)])
def test_times_that_could_let_two_lead_are_refused(times: tuple[float, float, float]) -> None:
    lease, renew, retry = times
    with pytest.raises(ValueError, match="longer"):
        Elector(DirectLock(Server()), "a", lease=lease, renew=renew, retry=retry)


CANDIDATES = st.sampled_from([0, 1, 0, 1, 2])


class Election(Elections):
    """Three candidates whose calls interleave and get lost in any way, while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.all = [
            Contender((self.server,), name, self.clock, ahead)
            for name, ahead in zip("abc", (0, 777, -500), strict=True)
        ]

    @rule(member=CANDIDATES, steps=st.integers(1, 4))
    def go_on(self, member: int, steps: int) -> None:
        for _ in range(steps):
            self.all[member].advance()
            self.one_leads()

    @rule(seconds=SECONDS, member=CANDIDATES)
    def try_to_the_end(self, seconds: float, member: int) -> None:
        self.clock.now += seconds
        for _ in range(8):
            self.all[member].advance()
            self.one_leads()
            if not self.all[member].busy:
                break

    @rule(member=CANDIDATES)
    def lose_a_call(self, member: int) -> None:
        self.all[member].lose()

    @precondition(lambda self: self.server.record is not None)
    @rule()
    def somebody_writes_the_same_again(self) -> None:
        """Labels, say: the version is another one, the record is not."""
        self.server.version += 1

    @precondition(lambda self: self.server.record is not None)
    @rule()
    def somebody_gives_back_what_nobody_uses(self) -> None:
        idle = not any(contender.busy or contender.elector.leading for contender in self.all)
        if idle and self.server.record is not None:
            self.server.record = replace(self.server.record, holder="")
            self.server.version += 1


Election.TestCase.settings = settings(
    max_examples=80, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestElection = Election.TestCase
