"""Elections in memory under a virtual clock: the servers' records, locks on them, and candidates made to take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kschedweb.live.schedulers.election.elector import Elector, Lock, Record
from kschedweb.live.schedulers.election.multilock import MultiLock

SECONDS = st.sampled_from([0.0, 0.0, 2.0, 4.9, 9.9, 14.9, 15.1])
Answer = TypeVar("Answer")


class Conflict(Exception):
    pass


class LostAnswer(Exception):
    pass


@dataclass
class Server:
    """Keeps one record and its version."""

    record: Record | None = None
    version: int = 0

    def write(self, record: Record, read_version: int) -> int:
        if read_version != self.version:
            raise Conflict
        self.record, self.version = record, self.version + 1
        return self.version


@dataclass
class DirectLock:
    """Calls that are answered at once, or fail while ``away``."""

    server: Server
    read_version: int = 0
    exists: bool = False
    away: bool = False
    recorded_events: list[str] = field(default_factory=list)

    def get(self) -> Record | None:
        self._reach()
        self.read_version, self.exists = self.server.version, self.server.record is not None
        return self.server.record

    def create(self, record: Record) -> None:
        self._reach()
        if self.server.record is not None:
            raise Conflict
        self.read_version, self.exists = self.server.write(record, self.server.version), True

    def update(self, record: Record) -> None:
        self._reach()
        self.read_version = self.server.write(record, self.read_version)

    def record_event(self, action: str) -> None:
        self.recorded_events.append(action)

    def _reach(self) -> None:
        if self.away:
            raise OSError


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Step(Generic[Answer]):
    """One call of a candidate that waits for what the test does with it."""

    def __init__(self, act: Callable[[], Answer]) -> None:
        self._act, self.done = act, threading.Event()
        self._answers: list[Answer] = []
        self.failure: Exception | None = None

    def act(self) -> None:
        self._answers.append(self._act())

    def answer(self) -> Answer:
        if self.failure is not None:
            raise self.failure
        return self._answers[0]


class Line:
    """Line from a candidate to its servers: every call stops twice, before it is done and before its answer arrives."""

    def __init__(self) -> None:
        self.pending: Step[Any] | None = None
        self.turn = threading.Semaphore(0)

    def call(self, act: Callable[[], Answer]) -> Answer:
        step = Step(act)
        self.pending = step
        self.turn.release()
        assert step.done.wait(20)
        return step.answer()


class SteppedLock:
    """The record of ``server`` over ``line``."""

    def __init__(self, server: Server, line: Line) -> None:
        self.server, self.line, self.read_version, self.exists = server, line, 0, False

    def get(self) -> Record | None:
        record, self.read_version = self.line.call(lambda: (self.server.record, self.server.version))
        self.exists = record is not None
        return record

    def create(self, record: Record) -> None:
        def act() -> int:
            if self.server.record is not None:
                raise Conflict
            return self.server.write(record, self.server.version)

        self.read_version = self.line.call(act)
        self.exists = True

    def update(self, record: Record) -> None:
        read_version = self.read_version
        self.read_version = self.line.call(lambda: self.server.write(record, read_version))

    def record_event(self, action: str) -> None:
        """Events change nothing."""


class Contender:
    """An elector whose attempts run in a thread, one step at a time; its clock shows another time than the others'.

    With two ``servers`` its lock is a pair.
    """

    def __init__(self, servers: tuple[Server, ...], name: str, clock: Time, ahead: float) -> None:
        self.line = Line()
        halves = [SteppedLock(server, self.line) for server in servers]
        lock: Lock = halves[0] if len(halves) == 1 else MultiLock(halves[0], halves[1], name)
        self.elector = Elector(lock, name, clock=lambda: clock.now + ahead, wall_clock=lambda: clock.now - ahead)
        self.acted = self.ended = self.resigns = False
        self._go = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.busy = False

    def _run(self) -> None:
        while True:
            self._go.acquire()
            if self.ended:
                return
            resigns, self.resigns = self.resigns, False
            if resigns:
                self.elector.resign()
            else:
                self.elector.acquire_or_renew()
            self.line.pending = None
            self.line.turn.release()

    def advance(self) -> None:
        """Begin an attempt, let the server do the call that waits, or let its answer arrive."""
        step = self.line.pending
        if not self.busy:
            self.busy = True
            self._go.release()
        elif step is not None and not self.acted:
            try:
                step.act()
            except Conflict as error:
                step.failure = error
            self.acted = True
            return
        elif step is not None:
            step.done.set()
        self._settle()

    def lose(self) -> Callable[[], object] | None:
        """The call, or its answer where the server has done it, is lost; what a server may still do one day."""
        step, acted = self.line.pending, self.acted
        if step is None:
            return None
        step.failure = LostAnswer()
        step.done.set()
        self._settle()
        return None if acted else step.act

    def _settle(self) -> None:
        assert self.line.turn.acquire(timeout=120)
        self.acted = False
        self.busy = self.line.pending is not None

    def end(self) -> None:
        for _ in range(20):
            if not self.busy:
                break
            self.lose()
        self.ended = True
        self._go.release()
        self._thread.join(5)


class Elections(RuleBasedStateMachine):
    """Candidates of whom one leads at most, each term one of them; time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Time()
        self.all: list[Contender] = []
        self.terms: dict[int, str] = {}

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def one_leads(self) -> None:
        leading = [contender.elector for contender in self.all if contender.elector.leading]
        assert len(leading) <= 1
        for elector in leading:
            assert self.terms.setdefault(elector.epoch, elector.identity) == elector.identity
            assert elector.epoch == max(self.terms)

    def teardown(self) -> None:
        for contender in self.all:
            contender.end()
