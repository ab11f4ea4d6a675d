"""client-go's leader election, over one record that all candidates can read and write, such as a Lease.

Times in the record are for people. Every candidate measures with its own clock how long it has seen the record
unchanged. A leader counts its term from before it sent the write that succeeded, and its term is shorter than the
others wait. So two never lead at once while the rates of clocks differ by less than ``lease / renew``.
"""

from __future__ import annotations

import random
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)

LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 15.0, 10.0, 2.0
JITTER = 1.2
COARSE = 1.0  # seconds, the step of times in some records
BECAME, STOPPED = "became leader", "stopped leading"


@dataclass(frozen=True)
class Record:
    """What the lock holds. ``holder`` "" is nobody; ``transitions`` grows with each change of leader.

    ``acquired`` and ``renewed`` are seconds of the epoch by the writer's clock; they are only shown to people.
    ``secondary`` is what the second lock of a pair holds: it is only read, so that its renewal counts as well.
    """

    holder: str
    seconds: int
    acquired: float
    renewed: float
    transitions: int
    secondary: Record | None = None


class Lock(Protocol):
    """One record. It can only be changed by a candidate that saw its last state. Every method may raise anything."""

    def get(self) -> Record | None:
        """The record; ``None`` where there is none yet."""

    def create(self, record: Record) -> None:
        """Write the first record. Raises where there is one already."""

    def update(self, record: Record) -> None:
        """Write it over the record read or written last. Raises where it has changed since."""

    def tell(self, action: str) -> None:
        """Write an event that this candidate ``action``."""


def new_identity() -> str:
    """A name that no other candidate has, nor this one after a restart: ``<host name>_<uuid>``."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def lasting_clock() -> float:
    """Seconds that never go back, and go on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _ignore_call(*_: object) -> None:
    """Ignores the call."""


class Elector:
    """One candidate. ``run`` it in a thread; ask ``leading`` right before whatever only a leader may do.

    ``started(epoch)`` is called when a term begins, ``stopped()`` when it has ended: at a stop before the lock is
    given back, so that what is under way can end first. ``changed(holder)`` hears of every new leader. They are called
    in the elector's thread and must return within seconds. Epochs are higher than ``after``, since
    the lock may not know of terms led by another lock.
    """

    def __init__(
        self,
        lock: Lock,
        identity: str,
        *,
        lease: float = LEASE_SECONDS,
        renew: float = RENEW_SECONDS,
        retry: float = RETRY_SECONDS,
        after: int = -1,
        started: Callable[[int], object] = _ignore_call,
        stopped: Callable[[], object] = _ignore_call,
        changed: Callable[[str], object] = _ignore_call,
        clock: Callable[[], float] = lasting_clock,
        wall: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if not identity:
            raise ValueError("A candidate needs an identity.")
        # Times in a record may be whole seconds: of two renewals in one second the others see the first.
        if not int(lease) - COARSE >= renew > retry * JITTER > 0:
            raise ValueError(
                "A lease must last at least 1 s longer than the time to renew it, and that longer than 1.2 retries."
            )
        self.identity, self.error = identity, ""
        self._epoch = after
        self._lock, self._clock, self._wall, self._chance = lock, clock, wall, chance
        self._lease, self._renew, self._retry = lease, renew, retry
        self._started, self._stopped, self._changed = started, stopped, changed
        self._seen: Record | None = None
        self._seen_at = 0.0
        self._term: tuple[int, float] | None = None  # epoch, and by when it ends unless it is renewed
        self._reported = ""

    @property
    def leading(self) -> bool:
        """Whether this candidate leads at this very moment, also while its thread hangs in a call."""
        term = self._term
        return term is not None and self._clock() < term[1]

    @property
    def epoch(self) -> int:
        """The lock's transitions in this candidate's last term, ``after`` before that. It orders everybody's terms."""
        return self._epoch

    @property
    def holder(self) -> str:
        """The leader as last seen, "" where there is none."""
        return self._seen.holder if self._seen else ""

    def run(self, stop: threading.Event) -> None:
        """Try to lead, and lead, until ``stop``; then give the lock back."""
        while not stop.is_set():
            stop.wait(self.attempt())
        self.resign()

    def attempt(self) -> float:
        """Acquire or renew once; how many seconds to wait before the next attempt."""
        was = self._term
        if was is not None and not self.leading:
            self._end()
        try:
            self._try_acquire_or_renew()
            self.error = ""
        except Exception as error:  # whatever it is, it is a try that failed
            self.error = getattr(error, "detail", "") or type(error).__name__
        if self._term is not None and not self.leading:
            self._end()
        self._report_holder()
        if self._term is not None and (was is None or self._term[0] != was[0]):
            log.info("became leader", identity=self.identity, epoch=self._epoch)
            self._started(self._epoch)
            self._tell_event(BECAME)
        return self._retry if self._term is not None else self._retry * (1 + JITTER * self._chance())

    def resign(self) -> None:
        """Stop leading now; then give the lock back, so that nobody has to wait for it."""
        if self._term is None:
            return
        self._end()
        try:
            record = self._lock.get()
            if record is not None and record.holder == self.identity:
                now = self._wall()
                self._lock.update(replace(record, holder="", seconds=1, acquired=now, renewed=now))
        except Exception as error:  # it expires by itself
            self.error = getattr(error, "detail", "") or type(error).__name__

    def _end(self) -> None:
        self._term = None
        log.info("stopped leading", identity=self.identity, epoch=self._epoch)
        self._stopped()
        self._tell_event(STOPPED)

    def _try_acquire_or_renew(self) -> None:
        """client-go's tryAcquireOrRenew: raises, or leaves the term as it is, where this candidate does not lead."""
        if self._term is not None and self._seen is not None:
            # A leader knows the record, as long as nobody else has changed it.
            try:
                return self._write_record(self._renewed_record(self._seen))
            except Exception as error:
                log.info("renewing the lock anew", identity=self.identity, error=type(error).__name__)
        record = self._lock.get()
        now = self._clock()
        if record is None:
            if self._term is not None:
                self._end()
            transitions = self._seen.transitions + 1 if self._seen else 0
            return self._write_record(self._fresh_record(max(transitions, self._epoch + 1)), create=True)
        if record != self._seen:
            self._seen, self._seen_at = record, now
        if record.holder == self.identity and self._term is not None:
            return self._write_record(self._renewed_record(record))
        if record.holder != self.identity:
            if self._term is not None:
                self._end()
            if record.holder and now < self._seen_at + record.seconds:
                return None
        # Also after this candidate's own term has expired: unfinished work belongs to the old term.
        return self._write_record(self._fresh_record(max(record.transitions, self._epoch) + 1))

    def _fresh_record(self, transitions: int) -> Record:
        now = self._wall()
        return Record(self.identity, int(self._lease), now, now, transitions)

    def _renewed_record(self, record: Record) -> Record:
        return replace(record, seconds=int(self._lease), renewed=self._wall())

    def _write_record(self, record: Record, *, create: bool = False) -> None:
        sent_at = self._clock()
        if create:
            self._lock.create(record)
        else:
            self._lock.update(record)
        self._seen, self._seen_at = record, self._clock()
        self._epoch = record.transitions
        self._term = record.transitions, sent_at + self._renew

    def _report_holder(self) -> None:
        if self.holder != self._reported:
            self._reported = self.holder
            self._changed(self._reported)

    def _tell_event(self, action: str) -> None:
        try:
            self._lock.tell(action)
        except Exception as error:
            log.info("no event of the election", what=action, error=type(error).__name__)
