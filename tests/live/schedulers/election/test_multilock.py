"""Elections that move from one lock to another by way of a pair, and never two that lead at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from kschedweb.live.schedulers.election.elector import Elector, Lock, Record
from kschedweb.live.schedulers.election.multilock import UNKNOWN, MultiLock
from tests.live.schedulers.election.elections import SECONDS, Conflict, Contender, DirectLock, Elections, Server, Time

OLD = Record("old", 15, 900.0, 990.0, 4)


class Locks:
    """Endpoints and a Lease, and electors on either or both."""

    def __init__(self, endpoints: Record | None = None, lease: Record | None = None) -> None:
        self.clock, self.endpoints, self.lease = Time(), Server(endpoints), Server(lease)

    def elector(self, name: str, lock: Lock) -> Elector:
        return Elector(lock, name, clock=self.clock, wall_clock=self.clock, draw=lambda: 0.5)

    def halves(self) -> tuple[DirectLock, DirectLock]:
        return DirectLock(self.endpoints), DirectLock(self.lease)

    def pair(self, name: str, kind: type[MultiLock] = MultiLock) -> Elector:
        return self.elector(name, kind(*self.halves(), name))

    def on_endpoints(self, name: str) -> Elector:
        return self.elector(name, DirectLock(self.endpoints))

    def on_lease(self, name: str) -> Elector:
        return self.elector(name, DirectLock(self.lease))


def test_who_leads_by_a_pair_holds_both() -> None:
    locks = Locks()
    candidate = locks.pair("a")
    candidate.acquire_or_renew()
    assert candidate.leading
    assert locks.endpoints.record == locks.lease.record == Record("a", 15, 1000.0, 1000.0, 0)
    locks.clock.now += 2
    candidate.acquire_or_renew()
    assert locks.endpoints.record == locks.lease.record == Record("a", 15, 1000.0, 1002.0, 0)
    candidate.resign()
    assert [server.record and server.record.holder for server in (locks.endpoints, locks.lease)] == ["", ""]
    other = locks.pair("b")
    other.acquire_or_renew()
    assert (other.leading, other.epoch) == (True, 1)


@pytest.mark.parametrize("half", ["endpoints", "lease"])
def test_a_pair_waits_for_who_holds_one_half(half: str) -> None:
    locks = Locks(**{half: OLD})
    candidate = locks.pair("a")
    candidate.acquire_or_renew()
    assert (candidate.leading, candidate.holder) == (False, "old")
    locks.clock.now += 10
    server: Server = getattr(locks, half)
    server.write(replace(OLD, renewed=1010.0), server.version)
    for wait, leads in ((6, False), (14.9, False), (0.1, True)):
        locks.clock.now += wait
        candidate.acquire_or_renew()
        assert candidate.leading == leads
    assert candidate.epoch == OLD.transitions + 1
    assert locks.endpoints.record == locks.lease.record


@pytest.mark.parametrize("half", ["endpoints", "lease"])
def test_halves_of_different_holders_are_nobodys_until_neither_is_renewed(half: str) -> None:
    """Also where one was given back: what that one says of its length does not count for the other."""
    locks = Locks(**{"endpoints": OLD, "lease": OLD, half: replace(OLD, holder="", seconds=1, transitions=9)})
    candidate = locks.pair("a")
    for seconds in (0, 14.9):
        locks.clock.now += seconds
        candidate.acquire_or_renew()
        assert (candidate.leading, candidate.holder) == (False, UNKNOWN)
    locks.clock.now += 0.2
    candidate.acquire_or_renew()
    assert (candidate.leading, candidate.epoch) == (True, 10)


def test_half_an_acquisition_leads_nobody_and_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    locks = Locks()
    endpoints, lease = locks.halves()
    candidate = locks.elector("a", MultiLock(endpoints, lease, "a"))

    def broken(record: Record) -> None:
        raise OSError

    with monkeypatch.context() as broke:
        broke.setattr(lease, "create", broken)
        candidate.acquire_or_renew()
    assert (candidate.leading, candidate.error) == (False, "OSError")
    assert locks.endpoints.record is not None
    locks.clock.now += 2
    candidate.acquire_or_renew()
    assert (candidate.leading, candidate.epoch) == (True, 1)


@pytest.mark.parametrize("half", ["endpoints", "lease"])
def test_a_half_that_is_deleted_begins_a_new_term(half: str) -> None:
    locks = Locks()
    candidate = locks.pair("a")
    candidate.acquire_or_renew()
    server: Server = getattr(locks, half)
    server.record, server.version = None, server.version + 1
    locks.clock.now += 2
    candidate.acquire_or_renew()
    assert (candidate.leading, candidate.epoch) == (True, 1)
    assert locks.endpoints.record == locks.lease.record


def test_a_half_that_is_stolen_ends_the_term() -> None:
    locks = Locks()
    candidate = locks.pair("a")
    candidate.acquire_or_renew()
    locks.lease.write(replace(OLD, holder="thief"), locks.lease.version)
    locks.clock.now += 2
    candidate.acquire_or_renew()
    assert (candidate.leading, candidate.holder) == (False, UNKNOWN)


def test_events_are_told_about_both() -> None:
    locks = Locks()
    endpoints, lease = locks.halves()
    locks.elector("a", MultiLock(endpoints, lease, "a")).acquire_or_renew()
    assert endpoints.recorded_events == lease.recorded_events == ["became leader"]


class UnseenMultiLock(MultiLock):
    """Writes the second half whatever it holds by now, as client-go's pair does."""

    def _write(self, record: Record) -> None:
        first, second = self._halves
        (first.update if first.exists else first.create)(record)
        second.get()
        (second.update if second.exists else second.create)(record)


@pytest.mark.parametrize(("kind", "both"), [(MultiLock, False), (UnseenMultiLock, True)])
def test_who_takes_the_second_half_between_reading_and_writing_leads_alone(
    kind: type[MultiLock], both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are free, and somebody is quicker with the Lease while the pair is at the Endpoints."""
    free = replace(OLD, holder="")
    locks = Locks(free, free)
    endpoints, lease = locks.halves()
    other, update = locks.on_lease("b"), endpoints.update

    def slow(record: Record) -> None:
        update(record)
        other.acquire_or_renew()

    monkeypatch.setattr(endpoints, "update", slow)
    candidate = locks.elector("a", kind(endpoints, lease, "a"))
    candidate.acquire_or_renew()
    assert other.leading
    assert candidate.leading == both


def test_endpoints_and_leases_alone_do_not_keep_each_other_out() -> None:
    """A migration goes by way of the pair, because with these two alone both lead."""
    locks = Locks()
    candidate, other = locks.on_endpoints("a"), locks.on_lease("b")
    candidate.acquire_or_renew()
    other.acquire_or_renew()
    assert candidate.leading
    assert other.leading


CANDIDATES = st.sampled_from([0, 1, 2])
FORTH = st.sampled_from([1, 1, -1])


class Migration(Elections):
    """Three candidates go from the one lock by way of the pair to the other, and back, none two steps from another.

    Calls interleave, get lost, and arrive late, also those of candidates that were killed; time passes in any of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names = count()
        endpoints, lease = Server(), Server()
        self.servers: list[tuple[Server, ...]] = [(endpoints,), (endpoints, lease), (lease,)]
        self.stages = [0, 0, 0]
        self.late: list[Callable[[], object]] = []

    @initialize(stages=st.sampled_from([[0, 0, 1], [0, 1, 1], [1, 1, 2], [1, 2, 2]]))
    def begin(self, stages: list[int]) -> None:
        self.stages = [*stages]
        self.all = [self.candidate(member) for member in range(3)]

    def candidate(self, member: int) -> Contender:
        return Contender(
            self.servers[self.stages[member]], f"{'abc'[member]}{next(self.names)}", self.clock, (0, 777, -500)[member]
        )

    @rule(member=CANDIDATES, steps=st.integers(1, 5))
    def go_on(self, member: int, steps: int) -> None:
        for _ in range(steps):
            self.all[member].advance()
            self.one_leads()

    @rule(seconds=SECONDS, members=st.lists(CANDIDATES, min_size=1, max_size=4))
    def try_to_the_end(self, seconds: float, members: list[int]) -> None:
        self.clock.now += seconds
        for member in members:
            self.finish(member)
            self.finish(member)

    def finish(self, member: int) -> None:
        """Finish the current attempt, or make another."""
        for _ in range(14):
            self.all[member].advance()
            self.one_leads()
            if not self.all[member].busy:
                break

    @rule(member=CANDIDATES)
    def lose_a_call(self, member: int) -> None:
        self.keep(self.all[member].lose())

    @rule(member=CANDIDATES, whole=st.booleans())
    def give_back(self, member: int, whole: bool) -> None:
        if not self.all[member].busy:
            self.all[member].resigns = True
            if whole:
                self.finish(member)

    @rule(member=CANDIDATES, by=FORTH)
    def be_killed_and_begin_with_another_lock(self, member: int, by: int) -> None:
        stages, newest = [*self.stages], max(self.terms, default=0)
        stages[member] += by
        if min(stages) < 0 or max(stages) > 2 or max(stages) - min(stages) > 1:
            return
        while self.all[member].busy:
            self.keep(self.all[member].lose())
        self.all[member].end()
        self.stages = stages
        if any(server.record is None or server.record.transitions < newest for server in self.servers[stages[member]]):
            self.terms.clear()  # one half alone knows of earlier terms only where somebody has led by the pair
        self.all[member] = self.candidate(member)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def a_lost_call_arrives_late(self, data: st.DataObject) -> None:
        call = self.late.pop(data.draw(st.integers(0, len(self.late) - 1)))
        with suppress(Conflict):
            call()

    def keep(self, call: Callable[[], object] | None) -> None:
        if call is not None:
            self.late.append(call)


Migration.TestCase.settings = settings(
    max_examples=120, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMigration = Migration.TestCase
