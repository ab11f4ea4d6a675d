"""Elections under a virtual clock: any interleaving of calls, losses and pauses, and never two that lead at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kschedweb.scheduling.elector import Elector, Record


class Conflict(Exception):
    pass


class LostAnswer(Exception):
    pass


@dataclass
class Server:
    """Keeps one record and its version."""

    record: Record | None = None
    version: int = 0

    def write(self, record: Record, seen: int) -> int:
        if seen != self.version:
            raise Conflict
        self.record, self.version = record, self.version + 1
        return self.version


@dataclass
class DirectLock:
    """Calls that are answered at once, or fail while ``away``."""

    server: Server
    seen: int = 0
    away: bool = False
    told: list[str] = field(default_factory=list)

    def get(self) -> Record | None:
        self._reach()
        self.seen = self.server.version
        return self.server.record

    def create(self, record: Record) -> None:
        self._reach()
        if self.server.record is not None:
            raise Conflict
        self.seen = self.server.write(record, self.server.version)

    def update(self, record: Record) -> None:
        self._reach()
        self.seen = self.server.write(record, self.seen)

    def tell(self, what: str) -> None:
        self.told.append(what)

    def _reach(self) -> None:
        if self.away:
            raise OSError


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def elector(lock: DirectLock, name: str, clock: Time, **more: Callable[..., object]) -> Elector:
    return Elector(lock, name, clock=clock, wall=clock, chance=lambda: 0.5, **more)  # type: ignore[arg-type]


def test_a_second_candidate_waits_for_a_whole_lease_that_it_has_seen_unchanged() -> None:
    clock, server = Time(), Server()
    first, second = elector(DirectLock(server), "a", clock), elector(DirectLock(server), "b", clock)
    assert first.attempt() == 2.0
    assert first.leading
    clock.now += 14.0
    assert second.attempt() == pytest.approx(2.0 * 1.6)
    assert second.holder == "a"
    clock.now += 14.9
    second.attempt()
    assert not second.leading
    clock.now += 0.1
    second.attempt()
    assert second.leading
    assert (first.epoch, second.epoch) == (0, 1)


def test_a_leader_that_cannot_renew_leads_for_ten_seconds_from_its_last_good_call() -> None:
    clock, server = Time(), Server()
    lock = DirectLock(server)
    heard: list[str] = []
    one = elector(lock, "a", clock, started=lambda epoch: heard.append(f"+{epoch}"), stopped=lambda: heard.append("-"))
    one.attempt()
    lock.away = True
    clock.now += 9.9
    one.attempt()
    assert one.leading
    assert one.error == "OSError"
    clock.now += 0.1
    assert not one.leading
    one.attempt()
    assert heard == ["+0", "-"]
    lock.away = False
    one.attempt()
    assert one.leading
    assert heard == ["+0", "-", "+1"]
    assert lock.told == ["became leader", "stopped leading", "became leader"]


def test_giving_back_lets_the_next_lead_at_once_and_ends_the_work_first() -> None:
    clock, server = Time(), Server()
    order: list[str] = []

    def stopped() -> None:
        assert server.record is not None
        order.append(server.record.holder)

    first = elector(DirectLock(server), "a", clock, stopped=stopped)
    second = elector(DirectLock(server), "b", clock)
    first.attempt()
    second.attempt()
    stop = threading.Event()
    stop.set()
    first.run(stop)
    assert order == ["a"]
    assert server.record is not None
    assert (server.record.holder, server.record.seconds, server.record.transitions) == ("", 1, 0)
    second.attempt()
    assert second.leading


def test_a_renewal_keeps_the_time_of_the_first_and_the_number_of_transitions() -> None:
    clock, server = Time(), Server()
    one = elector(DirectLock(server), "a", clock)
    one.attempt()
    clock.now += 2.0
    one.attempt()
    assert server.record == Record("a", 15, 1000.0, 1002.0, 0)


def test_the_lease_of_another_counts_as_long_as_it_says() -> None:
    clock, server = Time(), Server(Record("else", 60, 0.0, 0.0, 4), 1)
    one = elector(DirectLock(server), "a", clock)
    one.attempt()
    clock.now += 59.0
    one.attempt()
    assert not one.leading
    clock.now += 1.0
    one.attempt()
    assert one.leading
    assert one.epoch == 5


@pytest.mark.parametrize("times", [(15, 15, 2), (15, 10, 9), (0.5, 0.4, 0.1), (15, 10, 0)])
def test_times_that_could_let_two_lead_are_refused(times: tuple[float, float, float]) -> None:
    lease, renew, retry = times
    with pytest.raises(ValueError, match="longer"):
        Elector(DirectLock(Server()), "a", lease=lease, renew=renew, retry=retry)


class Step:
    """One call of a candidate that waits for what the test does with it."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act, self.done = act, threading.Event()
        self.answer: object = None
        self.failure: Exception | None = None


class SteppedLock:
    """Every call stops twice: before the server does it, and before its answer arrives."""

    def __init__(self, server: Server) -> None:
        self.server, self.seen = server, 0
        self.pending: Step | None = None
        self.turn = threading.Semaphore(0)

    def _call(self, act: Callable[[], object]) -> object:
        step = self.pending = Step(act)
        self.turn.release()
        assert step.done.wait(20)
        if step.failure is not None:
            raise step.failure
        return step.answer

    def get(self) -> Record | None:
        found = self._call(lambda: (self.server.record, self.server.version))
        record, self.seen = found  # type: ignore[misc]
        return record  # type: ignore[has-type,no-any-return]

    def create(self, record: Record) -> None:
        def act() -> int:
            if self.server.record is not None:
                raise Conflict
            return self.server.write(record, self.server.version)

        self.seen = self._call(act)  # type: ignore[assignment]

    def update(self, record: Record) -> None:
        seen = self.seen
        self.seen = self._call(lambda: self.server.write(record, seen))  # type: ignore[assignment]

    def tell(self, what: str) -> None:
        """Events change nothing."""


class Contender:
    """An elector whose attempts run in a thread, one step at a time; its clock shows another time than the others'."""

    def __init__(self, server: Server, name: str, clock: Time, ahead: float) -> None:
        self.lock = SteppedLock(server)
        self.elector = Elector(self.lock, name, clock=lambda: clock.now + ahead, wall=lambda: clock.now - ahead)
        self.acted = self.ended = False
        self.epochs: list[int] = []
        self._go = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.busy = False

    def _run(self) -> None:
        while True:
            self._go.acquire()
            if self.ended:
                return
            self.elector.attempt()
            self.lock.pending = None
            self.lock.turn.release()

    def advance(self) -> None:
        """Begin an attempt, let the server do the call that waits, or let its answer arrive."""
        step = self.lock.pending
        if not self.busy:
            self.busy = True
            self._go.release()
        elif step is not None and not self.acted:
            try:
                step.answer = step.act()
            except Conflict as error:
                step.failure = error
            self.acted = True
            return
        elif step is not None:
            step.done.set()
        self._settle()

    def lose(self) -> None:
        """The call, or its answer where the server has done it, is lost."""
        step = self.lock.pending
        if step is not None:
            step.failure = LostAnswer()
            step.done.set()
            self._settle()

    def _settle(self) -> None:
        assert self.lock.turn.acquire(timeout=20)
        self.acted = False
        self.busy = self.lock.pending is not None

    def end(self) -> None:
        for _ in range(20):
            if not self.busy:
                break
            self.lose()
        self.ended = True
        self._go.release()
        self._thread.join(5)


WHO = st.sampled_from([0, 1, 0, 1, 2])
SECONDS = st.sampled_from([0.0, 0.0, 2.0, 4.9, 9.9, 14.9, 15.1])


class Election(RuleBasedStateMachine):
    """Three candidates whose calls interleave and get lost in any way, while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.server = Time(), Server()
        self.all = [
            Contender(self.server, name, self.clock, ahead) for name, ahead in zip("abc", (0, 777, -500), strict=True)
        ]
        self.terms: dict[int, str] = {}

    @rule(who=WHO, steps=st.integers(1, 4))
    def go_on(self, who: int, steps: int) -> None:
        for _ in range(steps):
            self.all[who].advance()
            self.one_leads()

    @rule(seconds=SECONDS, who=WHO)
    def try_to_the_end(self, seconds: float, who: int) -> None:
        self.clock.now += seconds
        for _ in range(8):
            self.all[who].advance()
            self.one_leads()
            if not self.all[who].busy:
                break

    @rule(who=WHO)
    def lose_a_call(self, who: int) -> None:
        self.all[who].lose()

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds

    @precondition(lambda self: self.server.record is not None)
    @rule()
    def somebody_writes_the_same_again(self) -> None:
        """Labels, say: the version is another one, the record is not."""
        self.server.version += 1

    @precondition(lambda self: self.server.record is not None)
    @rule()
    def somebody_gives_back_what_nobody_uses(self) -> None:
        idle = not any(each.busy or each.elector.leading for each in self.all)
        if idle and self.server.record is not None:
            self.server.record = replace(self.server.record, holder="")
            self.server.version += 1

    @invariant()
    def one_leads(self) -> None:
        leading = [each.elector for each in self.all if each.elector.leading]
        assert len(leading) <= 1
        for one in leading:
            assert self.terms.setdefault(one.epoch, one.identity) == one.identity
            assert one.epoch == max(self.terms)

    def teardown(self) -> None:
        for each in self.all:
            each.end()


Election.TestCase.settings = settings(
    max_examples=80, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestElection = Election.TestCase
