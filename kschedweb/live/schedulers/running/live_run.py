"""One live scheduler at work: a queue takes news from the cluster and from people to one thread, which decides.

    reflectors, writers, gate, host -> inbox -> LiveLoop -> intents -> Carrier, Asker, Recorder

The loop's thread never waits for the network or the database. A term is one time of leading. Work begun in an earlier
term is not continued, and its answers are ignored.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from kschedweb.clusters.following.clock import SteadyClock
from kschedweb.clusters.following.reflector import Changed, Listed, Removed
from kschedweb.clusters.kinds import BY_NAME, kinds_watched
from kschedweb.engine.live import Draw, EvictPod, HoldPod, LiveLoop
from kschedweb.live.schedulers.decisions.log import DecisionLog
from kschedweb.live.schedulers.running.cache_comparer import Comparer, CompareRequest
from kschedweb.live.schedulers.running.connection import Connection
from kschedweb.live.schedulers.running.figures import RunFigures, depths_of
from kschedweb.live.schedulers.running.gate_client import (
    BindPermission,
    GateClient,
    RequestsDecided,
    RequestsListed,
    RequestStored,
)
from kschedweb.live.schedulers.running.held_pods import Requests
from kschedweb.live.schedulers.running.ledger import Ledger, LedgerContext
from kschedweb.live.schedulers.running.performer import Performer
from kschedweb.live.schedulers.writing.carrier import BindEnded, Carrier, EvictFailed, WriteFailed

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.extenders.extender import Extenders
    from kschedweb.engine.live import Decision, Intent
    from kschedweb.engine.state.watermarks.table import Watermarks
    from kschedweb.live.schedulers.metrics import Instruments
    from kschedweb.live.schedulers.models import LiveScheduler

logger = structlog.get_logger(__name__)

# News that are applied before the next pod is tried: a flood of changes must not keep pods waiting.
AT_ONCE = 256
# Seconds that the loop waits for news, and so the longest time between two looks at its leadership.
LONGEST_WAIT = 0.1
# Seconds between two publications of the state while there is work.
TELL_EVERY = 0.5
# Seconds for the whole stop, for bindings under way, and the least for each part.
STOP_SECONDS, FINISH_SECONDS, LEAST_SECONDS = 5.0, 3.0, 0.3


@dataclass(frozen=True)
class Commands:
    """A person's orders: no pod is tried while ``paused``, except for so many more ``steps``."""

    paused: bool
    steps: int = 0


@dataclass(frozen=True)
class WatermarksUpdate:
    """New measurements of the usage of nodes and workloads."""

    watermarks: Watermarks | None


class LiveRun:
    """Hosts one live scheduler from ``start`` to ``stop``, over ``connection``. ``draw`` is LiveLoop's."""

    def __init__(
        self,
        scheduler: LiveScheduler,
        *,
        revision: int,
        configuration: Configuration,
        connection: Connection,
        instruments: Instruments,
        extenders: Extenders | None = None,
        draw: Draw | None = None,
    ) -> None:
        self.scheduler, self.connection, self.instruments = scheduler, connection, instruments
        self.clock: Callable[[], float] = SteadyClock()
        # Monotonic seconds of the last turn; the host sees from it whether the loop hangs.
        self.ticked = time.monotonic()
        # Why the run ended by itself, "" otherwise.
        self.problem = ""
        self.figures = RunFigures()
        self._inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        draw = draw or random.Random().randrange  # noqa: S311
        self._loop = LiveLoop(configuration, extenders=extenders, clock=time.perf_counter, draw=draw)
        self._log = DecisionLog(scheduler.pk)
        self._asker = GateClient(scheduler, revision, self._inbox.put)
        engine = configuration.release.engine
        books = LedgerContext(scheduler.pk, scheduler.scheduler_name, revision, scheduler.keep_columns, engine)
        self._ledger = Ledger(books, self._log, self.figures, instruments)
        self._requests = Requests(self._loop, self._asker, self._ledger)
        self._elector = connection.elector
        self._carrier = Carrier(connection.writer, connection.recorder, self._leads_term, self._inbox.put)
        self._performer = Performer(self._carrier, self._ledger, self._requests)
        self._comparer = Comparer(scheduler.scheduler_name, connection.client, self._inbox.put)
        self._unlisted = kinds_watched()
        self._term, self._leading = 0, False
        self._commands = Commands(scheduler.paused)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"live-{scheduler.scheduler_name}", daemon=True)

    # From other threads.

    def start(self) -> None:
        self._log.start()
        self._asker.start()
        self._carrier.start()
        self.connection.start(self._inbox.put)
        self._thread.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Stop within about ``seconds``: try no more pods, let bindings under way end, then give the lease back."""
        deadline = time.monotonic() + seconds

        def remaining() -> float:
            return max(LEAST_SECONDS, deadline - time.monotonic())

        self._ended.set()
        self._comparer.stop()
        if self._thread.ident:
            self._thread.join(remaining())
        self._carrier.stop(remaining())
        self.connection.resign(remaining())
        self._asker.stop(remaining())
        self._log.stop(remaining())
        self.connection.close(remaining())
        self.instruments.forget_depths()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() or not self._thread.ident

    @property
    def leading(self) -> bool:
        return self._leading and self._elector.leading

    def command(self, paused: bool, steps: int) -> None:
        """Take over a person's orders; ``steps`` are added to the remaining ones."""
        if steps or paused != self._commands.paused:
            self._inbox.put(Commands(paused, steps))

    def update_watermarks(self, watermarks: Watermarks | None) -> None:
        self._inbox.put(WatermarksUpdate(watermarks))

    def compare(self) -> None:
        """Compare the loop's state with a fresh list; the result is in the report."""
        self._comparer.start_comparison()

    def hand_over(self) -> None:
        """Give the lease up because the loop hangs and another process shall lead."""
        self.connection.resign(0.0)

    def report(self) -> dict[str, Any]:
        """Return the values of its Candidate row that the run knows."""
        now = self.clock()
        return {
            "leading": self.leading,
            "synced": not self._unlisted,
            "epoch": self._requests.epoch if self._leading else 0,
            "depths": self._depths,
            "bound": self.figures.bound,
            "rate": self.figures.rate(now),
            "latency": self.figures.latency(),
            "history": list(self.figures.history),
            "watches": self.connection.watches(),
            "comparison": self._comparer.result,
            "error": self._elector.error or self.figures.error,
            "error_at": now if self._elector.error else self.figures.error_at,
        }

    _depths: dict[str, int] = {}
    _tell_at = 0.0

    def _leads_term(self, term: int) -> bool:
        """Return whether to bind. Called right before every binding, in the thread that writes it."""
        return term == self._term and self._leading and self._elector.leading

    # In the run's own thread.

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self._run_turn()
            self._finish_bindings()
        except Exception as error:
            # A loop that failed half-way may have lost track of the cluster: its host starts a new run.
            logger.exception("live_run_failed", scheduler=self.scheduler.scheduler_name)
            self.problem = f"The scheduling loop failed and starts over: {type(error).__name__}."
        finally:
            self._end_term()

    def _finish_bindings(self) -> None:
        """Wait for the answers to the bindings that are under way."""
        deadline = self.clock() + FINISH_SECONDS
        while self._performer.binds and self.clock() < deadline and self._elector.leading:
            try:
                self._handle_news(self._inbox.get(timeout=LONGEST_WAIT), self.clock())
            except queue.Empty:
                continue

    def _run_turn(self) -> None:
        now = self.clock()
        self.ticked = time.monotonic()
        self._look_at_lease(now)
        had_news = self._take_in(now)
        if self._may_try():
            stepped = self._loop.is_ready
            if stepped and self._commands.paused:
                self._commands = Commands(True, self._commands.steps - 1)
            self._carry_out(self._loop.step(now), now, decided=True)
            had_news = had_news or stepped
        else:
            self._carry_out(self._loop.pass_time(now), now)
        if not had_news or now >= self._tell_at:
            self._publish_state(now)
        if not had_news:
            self._wait_for_news(now)

    def _may_try(self) -> bool:
        """Return whether to try pods: it leads, knows the cluster and the held pods, and is not paused."""
        ready = self._leading and self._requests.restored
        return ready and (not self._commands.paused or self._commands.steps > 0)

    def _publish_state(self, now: float) -> None:
        self._tell_at = now + TELL_EVERY
        self._depths = depths_of(state := self._loop.depths)
        self.figures.remember_figures(state, now)
        self.instruments.set_depths(state)
        label = self._loop.configuration.release.entity_label
        self.instruments.set_entities(self._loop.queued_entities, label)
        self.instruments.count_incoming(self._loop.incoming)
        self.instruments.count_incoming_entities(self._loop.incoming_entities, label)

    def _wait_for_news(self, now: float) -> None:
        due = self._loop.next_time(now) if self._may_try() else None
        # Wake up when a timer of the queue is due, or to look at the lease, whichever is first.
        seconds = LONGEST_WAIT if due is None else min(LONGEST_WAIT, max(0.0, due - now))
        try:
            news = self._inbox.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return
        self._handle_news(news, self.clock())

    def _take_in(self, now: float) -> bool:
        for count in range(AT_ONCE):
            try:
                news = self._inbox.get_nowait()
            except queue.Empty:
                return count > 0
            self._handle_news(news, now)
        return True

    # Leadership.

    def _look_at_lease(self, now: float) -> None:
        leads = self._elector.leading and not self._unlisted
        # A lease that was lost and won again between two looks has a new epoch, and needs a new term.
        if self._leading and (not leads or self._elector.epoch != self._requests.epoch):
            logger.warning("live_lead_lost", scheduler=self.scheduler.scheduler_name)
            self._end_term()
        elif leads and not self._leading:
            self._term += 1
            self._ledger.books.epoch = self._elector.epoch
            self._requests.begin_term(self._term, self._elector.epoch, now)
            self._leading = True
            self.instruments.set_leading(True)
            logger.info("live_leads", scheduler=self.scheduler.scheduler_name, epoch=self._elector.epoch)

    def _end_term(self) -> None:
        """End the term: bind nothing more and release all reservations, without writing to the cluster."""
        if self._leading:
            self._leading = False
            self.instruments.set_leading(False)
            self._requests.end_term()
            self._performer.binds.clear()
            self._ledger.forget_all()
            self._loop.forget_reservations(self.clock())

    # News.

    def _handle_news(self, news: object, now: float) -> None:
        match news:
            case Changed(kind, raw):
                if kind == "Pod":
                    self.connection.pods.update_pod(raw)
                    self._ledger.note_created(raw, now)
                self._carry_out(self._loop.apply_object(kind, raw, now), now)
            case Removed(kind, raw):
                if kind == "Pod":
                    self.connection.pods.remove_pod(raw["metadata"].get("uid", ""))
                    self._ledger.forget_pod(raw)
                self._carry_out(self._loop.delete_object(kind, raw, now), now)
            case Listed():
                self._take_list(news, now)
            case BindEnded():
                self._bind_ended(news, now)
            case Commands() | WatermarksUpdate() | CompareRequest():
                self._hear_of_host(news, now)
            case WriteFailed(description):
                self.figures.note_failure(description, now)
            case _:
                self._hear_of_term(news, now)

    def _hear_of_host(self, news: Commands | WatermarksUpdate | CompareRequest, now: float) -> None:
        match news:
            case Commands(paused, steps):
                self._commands = Commands(paused, (self._commands.steps if paused else 0) + steps)
            case WatermarksUpdate(watermarks):
                self._loop.update_watermarks(watermarks, now)
            case CompareRequest(fresh, answer):
                answer.put(self._loop.compare_with(fresh))

    def _take_list(self, news: Listed, now: float) -> None:
        if news.kind == "Pod":
            for raw in news.items:
                self.connection.pods.update_pod(raw)
                self._ledger.note_listed(raw, now)
            self.connection.pods.keep_only({raw["metadata"].get("uid", "") for raw in news.items})
        if news.problem and not BY_NAME[news.kind].optional:
            self.figures.note_failure(f"{news.problem}.", now)
        self._carry_out(self._loop.replace_objects(news.kind, news.items, now), now)
        self._unlisted.discard(news.kind)

    def _hear_of_term(self, news: object, now: float) -> None:
        """Handle answers that count only in the term in which they were asked for."""
        if getattr(news, "term", self._term) != self._term or not self._leading:
            return
        match news:
            case RequestsListed():
                self._carry_out(self._requests.handle_opened(news, now), now)
            case RequestsDecided():
                self._carry_out(self._requests.handle_answered(news, now), now)
            case RequestStored():
                self._carry_out(self._requests.handle_stored(news, now), now)
            case BindPermission():
                bind, intents = self._requests.handle_permission(news, now)
                if bind is not None:
                    self._performer.bind_approved(bind, self._term)
                self._carry_out(intents, now)
            case EvictFailed(_, intent, message):
                self.figures.note_failure(f"eviction of {intent.pod.key}: {message}", now)
                # The preemptor waits for this victim: try it again, since the victim stays.
                self._loop.activate_pod(intent.preemptor.uid, now)

    def _bind_ended(self, news: BindEnded, now: float) -> None:
        intent, current = news.intent, news.term == self._term and self._leading
        self._performer.binds.discard(intent.pod.uid)
        if news.outcome == "bound":
            # A bound pod is bound in the cluster, whoever leads now; a failure is the next leader's business.
            self._ledger.note_bound(intent, now)
            if current:
                self._loop.on_bound(intent.pod.uid, now)
                self._requests.note_bound(intent.pod.uid)
        elif current:
            self.figures.note_failure(f"binding {intent.pod.key} to {intent.node}: {news.message}", now)
            self._ledger.bind_failed(intent, news.message, now)
            self._requests.bind_failed(intent.pod.uid, news.message)
            self._carry_out(self._loop.bind_failed(intent.pod.uid, news.message, now), now)

    # Intents.

    def _carry_out(self, intents: list[Intent], now: float, *, decided: bool = False) -> None:
        if not self._leading:
            return
        if victims := sum(isinstance(intent, EvictPod) for intent in intents):
            self.instruments.count_preemption(victims)
        for intent in intents:
            self._performer.begin_intent(intent, self._term, now)
            decision = getattr(intent, "decision", None)
            if decided and decision is not None:
                self._explain_decision(decision, now, is_held=isinstance(intent, HoldPod))

    def _explain_decision(self, decision: Decision, now: float, *, is_held: bool) -> None:
        """Explain the decision right away, while the loop still holds the state that led to it."""
        idle = self._inbox.empty() and not self._loop.is_ready
        self._ledger.explain_decision(
            decision,
            lambda: self._loop.explain_pod(decision.uid, now),
            now,
            time.perf_counter,
            idle=idle,
            is_held=is_held,
        )
