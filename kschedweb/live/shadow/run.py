"""Host a shadow: reflectors feed one queue, one thread judges, verdicts are written in batches.

Nothing is written to the cluster, not even a Lease. A second process that hosts the same shadow reaches the same
verdicts, and only one row of each is stored.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections, connection

from kschedweb.clusters.following.clock import SteadyClock
from kschedweb.clusters.following.reflector import Changed, Listed, Reflector, Removed
from kschedweb.clusters.following.view import follow_kinds
from kschedweb.clusters.kinds import kinds_watched
from kschedweb.live.schedulers.metrics import make_counter
from kschedweb.live.schedulers.running.live_run import WatermarksUpdate
from kschedweb.live.schedulers.selectors import ProfileError, live_configuration, revision_in_force
from kschedweb.live.shadow import services
from kschedweb.live.shadow.rows import verdict_row
from kschedweb.live.shadow.watcher import ShadowWatcher
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.state.watermarks.table import Watermarks
    from kschedweb.live.schedulers.models import LiveScheduler
    from kschedweb.live.shadow.models import ShadowVerdict
    from kschedweb.live.shadow.watcher import ShadowJudgement

# Seconds that the thread waits for news.
LONGEST_WAIT = 0.2
# Seconds between two writes of verdicts.
WRITE_EVERY = 0.5
STOP_SECONDS = 5.0
# Verdicts that wait for the database before the oldest are dropped.
MOST_WAITING = 20_000
# News that are applied before verdicts are written.
AT_ONCE = 500
VERDICTS = make_counter(
    "kschedweb_shadow_verdicts", "Number of pods of others that were judged, by verdict.", "verdict"
)
logger = structlog.get_logger(__name__)


class ShadowRun:
    """Judges, from ``start`` to ``stop``, the pods that others place for ``row``'s scheduler name."""

    def __init__(self, row: LiveScheduler, revision: int, configuration: Configuration) -> None:
        self.row, self.revision, self.engine = row, revision, configuration.release.engine
        self.ticked, self.problem = time.monotonic(), ""
        self._clock = SteadyClock()
        self._watcher = ShadowWatcher(configuration, row.scheduler_name)
        self._inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._unlisted = kinds_watched()
        self._waiting: deque[ShadowVerdict] = deque(maxlen=MOST_WAITING)
        self._counts: Counter[str] = Counter()
        self._written = time.monotonic()
        self._error, self._error_at = "", 0.0
        self._reflectors: list[Reflector] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"shadow-{row.scheduler_name}", daemon=True)

    # From other threads.

    def start(self) -> None:
        self._reflectors = follow_kinds(self.row.cluster, self._inbox.put)
        self._thread.start()

    def stop(self) -> None:
        """Write the remaining verdicts, then end."""
        self._ended.set()
        for reflector in self._reflectors:
            reflector.end()
        if self._thread.ident:
            self._thread.join(STOP_SECONDS)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() or not self._thread.ident

    @property
    def leading(self) -> bool:
        """Return True: a shadow has no leader, and each process judges for itself."""
        return True

    def command(self, paused: bool, steps: int) -> None:
        """Do nothing: a shadow is not paused."""

    def update_watermarks(self, watermarks: Watermarks | None) -> None:
        self._inbox.put(WatermarksUpdate(watermarks))

    def compare(self) -> None:
        """Do nothing: a shadow assumes no pods, so its state can only lag behind."""

    def hand_over(self) -> None:
        """Do nothing: there is no lease."""

    def report(self) -> dict[str, Any]:
        """Return the values of its Candidate row that the run knows."""
        return {
            "leading": True,
            "synced": not self._unlisted,
            "depths": self._depths,
            "watches": {reflector.kind.name: reflector.state for reflector in self._reflectors},
            "error": self._error,
            "error_at": self._error_at,
        }

    _depths: dict[str, int] = {}

    # In its own thread.

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self.ticked = time.monotonic()
                self._take_news()
                self._write_verdicts()
        except Exception as error:
            logger.exception("shadow_run_failed", scheduler=self.row.scheduler_name)
            self.problem = f"The shadow failed and starts over: {type(error).__name__}."
        finally:
            self._write_verdicts(now=True)
            connection.close()

    def _take_news(self) -> None:
        try:
            news = self._inbox.get(timeout=LONGEST_WAIT)
            for _ in range(AT_ONCE):
                self._take_message(news)
                news = self._inbox.get_nowait()
            self._take_message(news)
        except queue.Empty:
            nodes, pods = self._watcher.size
            self._depths = {"nodes": nodes, "pods": pods, **self._counts}

    def _take_message(self, news: object) -> None:
        now = self._clock()
        match news:
            case Changed(kind, raw):
                self._queue_verdicts(self._watcher.apply(kind, raw, now))
            case Removed(kind, raw):
                self._watcher.delete(kind, raw, now)
            case Listed():
                self._queue_verdicts(self._watcher.replace(news.kind, news.items, now))
                self._unlisted.discard(news.kind)
            case WatermarksUpdate(watermarks):
                self._watcher.update_watermarks(watermarks, now)

    def _queue_verdicts(self, judgements: list[ShadowJudgement]) -> None:
        for judged in judgements:
            verdict = judged.judgement.verdict.value
            self._counts[verdict] += 1
            VERDICTS.labels(self.row.cluster.name, self.row.scheduler_name, verdict).inc()
            self._waiting.append(verdict_row(self.row.pk, judged, self.revision, self.engine))

    def _write_verdicts(self, *, now: bool = False) -> None:
        if not self._waiting or not (now or time.monotonic() - self._written >= WRITE_EVERY):
            return
        self._written = time.monotonic()
        close_old_connections()
        try:
            services.verdicts_store(rows=list(self._waiting))
        except (OperationalError, InterfaceError):
            # They wait in memory until the database answers again.
            logger.warning("shadow_without_database", scheduler=self.row.scheduler_name)
            self._error, self._error_at = "The database does not answer: verdicts wait in memory.", self._clock()
            connection.close()
            return
        except DatabaseError:
            # Verdicts that cannot be stored at all (the scheduler was deleted) must not be tried for ever.
            logger.exception("shadow_verdicts_lost", scheduler=self.row.scheduler_name, verdicts=len(self._waiting))
        self._waiting.clear()
        self._error = ""


def make_run(row: LiveScheduler, identity: str) -> ShadowRun:
    """Return the shadow of ``row``, not started. Raise ApplicationError if its policy cannot be used."""
    revision = revision_in_force(row)
    try:
        configuration = live_configuration(row, revision)
    except ProfileError as error:
        raise Unprocessable(str(error)) from None
    return ShadowRun(row, revision.pk, configuration)
