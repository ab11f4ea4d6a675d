"""A live scheduler's connection to its cluster: clients, reflectors, the elector, and the writers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.openers import get_opener
from kschedweb.clusters.following.facts import KnownPods
from kschedweb.clusters.following.reflector import Reflector, WatchState
from kschedweb.clusters.kinds import KINDS, kinds_watched
from kschedweb.live.schedulers.election.elector import Elector
from kschedweb.live.schedulers.election.locks import make_lock
from kschedweb.live.schedulers.election.terms import terms_of
from kschedweb.live.schedulers.writing.limits import TokenBucket
from kschedweb.live.schedulers.writing.recorder import EventRecorder
from kschedweb.live.schedulers.writing.writer import CALL_SECONDS, Writer

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler


class Connection:
    """All parts of one run that talk to the API server. Raises ApplicationError if the cluster may not be contacted.

    Writing and the lock have separate clients, so that a renewal never waits behind a thousand bindings.
    """

    def __init__(self, row: LiveScheduler, identity: str) -> None:
        self.pods = KnownPods()
        self._row, self._identity, self._opener = row, identity, get_opener(row.cluster)
        self._writes, self._votes = self.client(), self.client()
        self.recorder = EventRecorder(
            self._writes, self.pods, controller=row.scheduler_name, limit=limit_of(row.qps, row.burst)
        )
        terms = terms_of(row)
        self._renew = terms.renew
        lock = make_lock(
            terms.lock,
            self._votes,
            terms.namespace,
            terms.name,
            identity,
            component=row.scheduler_name,
            # A third of the renew deadline: even two calls that hang leave time for a third one.
            seconds=terms.renew / 3,
        )
        self.elector = Elector(
            lock, identity, lease=terms.lease, renew=terms.renew, retry=terms.retry, last_epoch=row.epoch
        )
        self._resign = threading.Event()
        self._election = threading.Thread(target=self.elector.run, args=(self._resign,), name="live-lease", daemon=True)
        self.reflectors: dict[str, Reflector] = {}

    def client(self) -> Client:
        """Return a further client of the cluster."""
        return self._opener.open(self._identity)

    def start(self, sink: Callable[[object], None]) -> None:
        """Follow the cluster, and take part in the election."""
        for kind in KINDS:
            if kind.name in kinds_watched():
                self.reflectors[kind.name] = Reflector(self.client, kind, sink)
        for reflector in self.reflectors.values():
            reflector.start()
        self._election.start()

    def writer(self, leading: Callable[[], bool]) -> Writer:
        return Writer(
            self._writes,
            self.pods,
            leading=leading,
            limit=limit_of(self._row.qps, self._row.burst),
            # Below the renew deadline: a binding that was sent while leading has its answer before the term can end.
            call_seconds=min(CALL_SECONDS, 0.8 * self._renew),
        )

    def resign(self, seconds: float) -> None:
        """Give the lock back, so that no process has to wait until it expires."""
        self._resign.set()
        if self._election.ident:
            self._election.join(seconds)

    def close(self, seconds: float) -> None:
        """Stop everything that talks to the server; wait at most ``seconds`` for each part."""
        for reflector in self.reflectors.values():
            reflector.end()
        self.recorder.close(seconds)
        self._writes.stop.set()
        for client in (self._writes, self._votes):
            client.close()

    def watches(self) -> dict[str, WatchState]:
        """Return the state of the watch of each kind."""
        return {kind: reflector.state for kind, reflector in list(self.reflectors.items())}


def limit_of(qps: int, burst: int) -> TokenBucket | None:
    """Return the rate limit of a client, None for no limit (QPS 0)."""
    return TokenBucket(qps, burst) if qps else None
