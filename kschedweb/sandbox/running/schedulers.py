"""The sandbox's own kube-schedulers: a thread for each ConfigMap with a scheduler's configuration."""

from __future__ import annotations

import base64
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

import structlog

from kschedweb.clusters.connecting.addresses import endpoint_check
from kschedweb.clusters.connecting.wire import Wire, WireError
from kschedweb.engine.extenders.extender import Extenders, Post, TransportError
from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.requests import ApiResponse, Watch
from kschedweb.engine.sandbox.world.resources import CONFIG_MAP
from kschedweb.engine.sandbox.world.scheduler import StockScheduler, load_configuration
from kschedweb.engine.sandbox.world.scheduler.configuration import (
    NAMESPACE,
    is_configuration,
    is_configuration_change,
    rejection_event,
)

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.sandbox.requests import Request
    from kschedweb.engine.sandbox.store import Store, StoreChange

Call = Callable[["Request"], "ApiResponse | Watch"]
# Seconds that a scheduler waits for changes.
LONGEST_REST = 60.0
logger = structlog.get_logger(__name__)


class StockSchedulers:
    """Follows the ConfigMaps of ``store``; ``call`` carries out a request from any thread.

    Their only extender may be ``site`` ("" for none), because people may write their configurations.
    """

    def __init__(self, store: Store, call: Call, site: str) -> None:
        self._store, self._call, self._site = store, call, site
        self._running: dict[str, _SchedulerThread] = {}

    def start(self) -> None:
        """Start a scheduler for each existing configuration, and follow them. For the sandbox's own thread only."""
        self._store.add_listener(self._on_change)
        for raw in self._store.all(CONFIG_MAP, NAMESPACE):
            if is_configuration(raw):
                self._start_scheduler(raw)

    def stop(self) -> None:
        for scheduler in self._running.values():
            scheduler.stop()

    def _on_change(self, change: StoreChange) -> None:
        if not is_configuration_change(change):
            return
        if change.new is not None and is_configuration(change.new):
            self._start_scheduler(change.new)
        else:
            self._stop_scheduler(change.key[1])

    def _start_scheduler(self, raw: Json) -> None:
        result = load_configuration(raw)
        if result.configuration is None:
            write = rejection_event(raw, result.problem, time.time())
            threading.Thread(target=self._call, args=(write.request,), daemon=True).start()
            return
        self._stop_scheduler(result.name)
        running = self._running[result.name] = _SchedulerThread(
            result.configuration, self._store, self._call, self._site
        )
        running.start()

    def _stop_scheduler(self, name: str) -> None:
        if (running := self._running.pop(name, None)) is not None:
            running.stop()


class _SchedulerThread:
    """One scheduler at work in a thread of its own."""

    def __init__(self, configuration: Configuration, store: Store, call: Call, site: str) -> None:
        self._call = call
        extenders = Extenders(configuration.extenders, _make_post(site)) if configuration.extenders else None
        self._scheduler = StockScheduler(configuration, extenders=extenders, draw=random.randrange)
        self._changes: queue.SimpleQueue[StoreChange | None] = queue.SimpleQueue()
        self._scheduler.load_store(store, time.time())
        self._deaf = store.add_listener(self._changes.put)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="sandbox-scheduler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop it, without waiting. A write that has begun may still happen."""
        self._stopped = True
        self._deaf()
        self._changes.put(None)

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._run_turn()
            except Exception:
                if self._stopped:
                    return
                logger.exception("sandbox_scheduler_stumbled")
                time.sleep(1.0)

    def _run_turn(self) -> None:
        now = time.time()
        due = self._scheduler.next_time(now)
        timeout = LONGEST_REST if due is None else min(LONGEST_REST, max(0.0, due - now))
        try:
            change = self._changes.get(timeout=timeout) if timeout else self._changes.get_nowait()
        except queue.Empty:
            change = None
        # All waiting changes are taken before the next step, so that it decides with the newest state.
        while change is not None:
            self._scheduler.on_change(change, time.time())
            change = None if self._changes.empty() else self._changes.get_nowait()
        writes = deque() if self._stopped else deque(self._scheduler.step(time.time()))
        while writes:
            write = writes.popleft()
            answer = self._call(write.request)
            if isinstance(answer, ApiResponse):
                writes.extendleft(reversed(self._scheduler.on_response(write, answer, time.time())))


def _make_post(site: str) -> Post:
    """Return a function that posts to this site alone, with user and password from the address, as Go's client does."""
    endpoint = endpoint_check(site, trusted=True, open=True) if site else None
    wires: dict[str, Wire] = {}

    def post(url: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        scheme, _, remainder = url.partition("://")
        login, _, place = remainder.rpartition("@")
        if endpoint is None or not f"{scheme}://{place}".startswith(f"{site}/"):
            raise TransportError("a scheduler of the sandbox asks no extender but this site's")
        if login not in wires:
            basic = base64.b64encode(unquote(login).encode()).decode()
            headers = {"Host": endpoint.host_header, "Authorization": f"Basic {basic}"}
            wires[login] = Wire(endpoint, None, endpoint.host, headers)
        path = f"{scheme}://{place}"[len(site) :]
        try:
            answer = wires[login].call("POST", path, body, "application/json", connect=seconds, seconds=seconds)
        except WireError as error:
            raise TransportError(type(error.__cause__).__name__) from None
        return answer.code, answer.body

    return post
