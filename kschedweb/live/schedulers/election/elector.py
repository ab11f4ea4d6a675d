"""client-go's leader election, over one record that all candidates can read and write, such as a Lease.

Times in the record are for people only. Every candidate measures with its own clock for how long the record has not
changed. A leader counts its term from before it sent the write that succeeded, and its term is shorter than the time
that others wait. So two candidates never lead at once while the rates of their clocks differ by less than
``lease / renew``.
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

# kube-scheduler's default leaderElection: leaseDuration, renewDeadline and retryPeriod.
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 15.0, 10.0, 2.0
# client-go's JitterFactor: candidates that fail retry at different times.
JITTER = 1.2
# Seconds, the resolution of times in a lock's annotation.
COARSE = 1.0
# The words of client-go's events about the lock.
BECAME, STOPPED = "became leader", "stopped leading"


@dataclass(frozen=True)
class Record:
    """The content of a lock, as client-go's LeaderElectionRecord has it."""

    # Identity of the leader, "" for nobody.
    holder: str
    # For how long others wait after they last saw the record change.
    seconds: int
    # Seconds of the epoch by the writer's clock. They are only shown to people.
    acquired: float
    renewed: float
    # Grows with each change of leader.
    transitions: int
    # The record of the second lock of a pair. It is only compared, so that its renewal counts as well.
    secondary: Record | None = None


class Lock(Protocol):
    """One record. Only a candidate that saw its last state can change it. Every method may raise any exception."""

    def get(self) -> Record | None:
        """Return the record, None if none exists yet."""

    def create(self, record: Record) -> None:
        """Write the first record. Raise if one exists already."""

    def update(self, record: Record) -> None:
        """Overwrite the record that was read or written last. Raise if it has changed since."""

    def record_event(self, action: str) -> None:
        """Write an event that says that this candidate ``action``."""


def new_identity() -> str:
    """Return a name that no other candidate has, nor this one after a restart: ``<host name>_<uuid>``."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def lasting_clock() -> float:
    """Return seconds of a clock that never goes back, and that goes on while the machine sleeps."""
    # time.monotonic() stops during suspend on Linux: a machine that wakes up would believe that it still leads.
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _ignore_call(*_: object) -> None:
    """Ignore the call."""


class Elector:
    """One candidate. Call ``run`` in a thread, and read ``leading`` right before an action that only a leader may take.

    ``on_started_leading(epoch)`` is called when a term begins, ``on_stopped_leading()`` when it has ended. On a regular
    stop that is before the lock is given back, so that work under way can end first. ``on_new_leader(holder)`` is
    called for every new leader. All three are called in the elector's thread and must return within seconds. Epochs are
    higher than ``last_epoch``, because the lock may not know the terms that were led by another lock.
    """

    def __init__(
        self,
        lock: Lock,
        identity: str,
        *,
        lease: float = LEASE_SECONDS,
        renew: float = RENEW_SECONDS,
        retry: float = RETRY_SECONDS,
        last_epoch: int = -1,
        on_started_leading: Callable[[int], object] = _ignore_call,
        on_stopped_leading: Callable[[], object] = _ignore_call,
        on_new_leader: Callable[[str], object] = _ignore_call,
        clock: Callable[[], float] = lasting_clock,
        wall_clock: Callable[[], float] = time.time,
        draw: Callable[[], float] = random.random,
    ) -> None:
        if not identity:
            raise ValueError("A candidate needs an identity.")
        # Times in a record may be whole seconds: of two renewals in one second, others notice only the first.
        if not int(lease) - COARSE >= renew > retry * JITTER > 0:
            raise ValueError(
                "A lease must last at least 1 s longer than the time to renew it, and that longer than 1.2 retries."
            )
        self.identity, self.error = identity, ""
        self._epoch = last_epoch
        self._lock, self._clock, self._wall_clock, self._draw = lock, clock, wall_clock, draw
        self._lease, self._renew, self._retry = lease, renew, retry
        self._on_started_leading, self._on_stopped_leading = on_started_leading, on_stopped_leading
        self._on_new_leader = on_new_leader
        self._seen: Record | None = None
        # When the record was first seen in its present state, by this candidate's clock.
        self._seen_at = 0.0
        # The epoch, and when the term ends unless it is renewed.
        self._term: tuple[int, float] | None = None
        self._reported = ""

    @property
    def leading(self) -> bool:
        """True if this candidate leads at this very moment, even while its thread hangs in a call."""
        term = self._term
        return term is not None and self._clock() < term[1]

    @property
    def epoch(self) -> int:
        """Return the lock's transitions in this candidate's last term, at first ``last_epoch``. It orders all terms."""
        return self._epoch

    @property
    def holder(self) -> str:
        """Return the leader as last seen, "" if there is none."""
        return self._seen.holder if self._seen else ""

    def run(self, stop: threading.Event) -> None:
        """Try to lead, and lead, until ``stop`` is set; then give the lock back."""
        while not stop.is_set():
            stop.wait(self.acquire_or_renew())
        self.resign()

    def acquire_or_renew(self) -> float:
        """Acquire or renew the lock once. Return the seconds to wait before the next attempt."""
        was = self._term
        if was is not None and not self.leading:
            self._end()
        try:
            self._try_acquire_or_renew()
            self.error = ""
        except Exception as error:  # Any error is a failed attempt; the term expires unless a later one succeeds.
            self.error = getattr(error, "detail", "") or type(error).__name__
        if self._term is not None and not self.leading:
            self._end()
        self._report_holder()
        if self._term is not None and (was is None or self._term[0] != was[0]):
            log.info("became leader", identity=self.identity, epoch=self._epoch)
            self._on_started_leading(self._epoch)
            self._record_event(BECAME)
        return self._retry if self._term is not None else self._retry * (1 + JITTER * self._draw())

    def resign(self) -> None:
        """Stop leading now; then give the lock back, so that no candidate has to wait for it."""
        if self._term is None:
            return
        self._end()
        try:
            record = self._lock.get()
            if record is not None and record.holder == self.identity:
                now = self._wall_clock()
                # client-go's `release` writes a lease of 1 s too: 0 s would not be valid.
                self._lock.update(replace(record, holder="", seconds=1, acquired=now, renewed=now))
        except Exception as error:  # The lock expires by itself.
            self.error = getattr(error, "detail", "") or type(error).__name__

    def _end(self) -> None:
        self._term = None
        log.info("stopped leading", identity=self.identity, epoch=self._epoch)
        self._on_stopped_leading()
        self._record_event(STOPPED)

    def _try_acquire_or_renew(self) -> None:
        """Acquire or renew, as client-go's `tryAcquireOrRenew`. Raise, or leave the term alone, if that fails."""
        if self._term is not None and self._seen is not None:
            # A leader knows the record as long as nobody else has changed it, so it renews without reading.
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
        # This holds after this candidate's own term has expired, too: unfinished work belongs to the old term.
        return self._write_record(self._fresh_record(max(record.transitions, self._epoch) + 1))

    def _fresh_record(self, transitions: int) -> Record:
        now = self._wall_clock()
        return Record(self.identity, int(self._lease), now, now, transitions)

    def _renewed_record(self, record: Record) -> Record:
        return replace(record, seconds=int(self._lease), renewed=self._wall_clock())

    def _write_record(self, record: Record, *, create: bool = False) -> None:
        # The term counts from before the write: others cannot have seen the new record earlier.
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
            self._on_new_leader(self._reported)

    def _record_event(self, action: str) -> None:
        try:
            self._lock.record_event(action)
        except Exception as error:
            log.info("no event of the election", what=action, error=type(error).__name__)
