"""Two locks as one, with which an election moves from the one to the other: who leads holds both.

It keeps out, and is kept out by, whoever takes part with either of them. The two together need not keep each other
out, so all candidates must have come to the pair before the first goes on from it. Unlike client-go's, each half is
written over only as it was when both were read: client-go's pair writes its second half unseen, and so leads for a
moment beside somebody who has just taken that half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from kschedweb.live.schedulers.election.elector import Lock, Record

UNKNOWN = "leaderelection.k8s.io/unknown"  # client-go's name for whoever holds one half only


class Half(Lock, Protocol):
    """A lock that may be missing."""

    @property
    def exists(self) -> bool:
        """Whether it was there when it was last read or written."""


class MultiLock:
    """``primary`` and ``secondary`` for the candidate ``identity``; always written in this order."""

    def __init__(self, primary: Half, secondary: Half, identity: str) -> None:
        self._halves, self._identity = (primary, secondary), identity

    def get(self) -> Record | None:
        """What both hold: with different holders one that nobody is, so that all wait until neither is renewed.

        Where one is missing the other's counts. If that one names this candidate itself, the term is over, as it is
        when a lock of one half is gone: a new one may begin at once, by way of the half that is left.
        """
        first, second = (half.get() for half in self._halves)
        if first is None or second is None:
            left = first or second
            return replace(left, holder="") if left is not None and left.holder == self._identity else left
        return replace(
            first,
            holder=first.holder if first.holder == second.holder else UNKNOWN,
            seconds=max(first.seconds, second.seconds),
            transitions=max(first.transitions, second.transitions),
            beside=second,
        )

    def create(self, record: Record) -> None:
        self._write(record)

    def update(self, record: Record) -> None:
        self._write(record)

    def tell(self, what: str) -> None:
        for half in self._halves:
            half.tell(what)

    def _write(self, record: Record) -> None:
        for half in self._halves:
            if half.exists:
                half.update(record)
            else:
                half.create(record)
