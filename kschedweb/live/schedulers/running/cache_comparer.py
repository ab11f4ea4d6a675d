"""Compare the state that a run holds with the cluster on SIGUSR2, as kube-scheduler's cache debugger does."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

from kschedweb.clusters.following.reflector import FIELD_SELECTORS
from kschedweb.clusters.kinds import BY_NAME, reduce_object
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import CacheComparison, FreshListing
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.clusters.connecting.client import Client

logger = structlog.get_logger(__name__)

# A difference that is still there after these tries, so many seconds apart, is no mere delay of the watches.
TRIES, PAUSE = 5, 1.0
# Seconds within which the loop must answer.
ANSWERS_WITHIN = 10.0
# Differences that are listed in the report; the count tells all.
MOST_TOLD = 20


@dataclass(frozen=True)
class CompareRequest:
    """A request to the loop: compare ``fresh`` with the state that it holds, and put the result into ``answer``."""

    fresh: FreshListing
    answer: queue.SimpleQueue[CacheComparison] = field(default_factory=queue.SimpleQueue)


class Comparer:
    """Lists nodes and pods in a thread, and lets the loop compare them; ``put`` sends to the loop.

    A list may be a little older or newer than the loop's state. So a difference counts only if each of five lists, a
    second apart, shows it.
    """

    def __init__(self, scheduler: str, open_client: Callable[[], Client], put: Callable[[object], None]) -> None:
        self._scheduler, self._open, self._put = scheduler, open_client, put
        self._thread = threading.Thread()
        self._ended = threading.Event()
        # The value of Candidate.comparison; empty before the first comparison.
        self.result: Json = {}

    def start_comparison(self) -> None:
        """Start a comparison that replaces ``result``, unless one is under way."""
        if not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="live-comparer", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        comparison: CacheComparison | None = None
        lasting: dict[tuple[str, str], str] = {}
        for _ in range(TRIES):
            problem = ""
            try:
                before, comparison = comparison, self._compare_once()
                # Keep only differences that every list so far has shown.
                lasting_keys = (
                    comparison.differences if before is None else lasting.keys() & comparison.differences.keys()
                )
                lasting = {key: comparison.differences[key] for key in lasting_keys}
            except ApplicationError as error:
                problem = error.detail
            except queue.Empty:
                problem = "The scheduling loop did not answer."
            if not (lasting or problem) or self._ended.wait(PAUSE):
                break
        self._publish_result(comparison, sorted(lasting.values()), problem)

    def _compare_once(self) -> CacheComparison:
        with self._open() as client:
            request = CompareRequest(FreshListing.from_lists(_list_all(client, "Node"), _list_all(client, "Pod")))
        self._put(request)
        return request.answer.get(timeout=ANSWERS_WITHIN)

    def _publish_result(self, comparison: CacheComparison | None, differences: list[str], problem: str) -> None:
        counts = (
            {}
            if comparison is None
            else {"nodes": comparison.nodes, "pods": comparison.pods, "assumed": comparison.assumed}
        )
        log = logger.error if differences or problem else logger.info
        log("live_cache_compared", scheduler=self._scheduler, **counts, differences=differences, problem=problem)
        self.result = {
            "at": time.time(),
            **counts,
            "differences": differences[:MOST_TOLD],
            "count": len(differences),
            "problem": problem,
        }


def _list_all(client: Client, kind: str) -> list[Json]:
    """Return all objects of ``kind`` from etcd, not the API server's cache: the request names no resource version."""
    selection: dict[str, Any] = {"fieldSelector": selector} if (selector := FIELD_SELECTORS.get(kind)) else {}
    items = [item for page in client.pages(BY_NAME[kind].path, **selection) for item in page.items]
    return [reduce_object(item) for item in items if isinstance(item, dict)]
