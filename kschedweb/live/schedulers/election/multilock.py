"""Two locks used as one, with which an election moves from one to the other: the leader holds both.

The pair excludes candidates that use either lock. The two locks alone need not exclude each other, so all candidates
must use the pair before the first one moves on. Each half is overwritten here only if it has not changed since both
were read. client-go's pair writes its second half without that check, and may lead for a moment beside a candidate
that has just taken that half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from kschedweb.live.schedulers.election.elector import Lock, Record

# client-go's UnknownLeader: the holder of a pair whose halves have different holders.
UNKNOWN = "leaderelection.k8s.io/unknown"


class Half(Lock, Protocol):
    """A lock whose object may be missing."""

    @property
    def exists(self) -> bool:
        """True if the object existed when it was last read or written."""


class MultiLock:
    """The locks ``primary`` and ``secondary`` for the candidate ``identity``; always written in this order."""

    def __init__(self, primary: Half, secondary: Half, identity: str) -> None:
        self._halves, self._identity = (primary, secondary), identity

    def get(self) -> Record | None:
        """Return one record for both. With different holders it names no candidate: all wait until neither is renewed.

        If one half is missing, the other counts. If that one names this candidate, its term is over, as with a single
        lock that was deleted: a new term may begin at once, through the remaining half.
        """
        first, second = (half.get() for half in self._halves)
        if first is None or second is None:
            remaining = first or second
            return (
                replace(remaining, holder="")
                if remaining is not None and remaining.holder == self._identity
                else remaining
            )
        return replace(
            first,
            holder=first.holder if first.holder == second.holder else UNKNOWN,
            seconds=max(first.seconds, second.seconds),
            transitions=max(first.transitions, second.transitions),
            secondary=second,
        )

    def create(self, record: Record) -> None:
        self._write(record)

    def update(self, record: Record) -> None:
        self._write(record)

    def record_event(self, action: str) -> None:
        for half in self._halves:
            half.record_event(action)

    def _write(self, record: Record) -> None:
        for half in self._halves:
            if half.exists:
                half.update(record)
            else:
                half.create(record)
