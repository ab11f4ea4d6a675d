"""The hub of streams: it looks at each live scheduler that has listeners in this process, once for all of them.

However many listen, a scheduler costs two small queries twice a second; no connection is held in between.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import structlog
from django.db import connections

from kschedweb.live.schedulers.streaming.events import LiveFollower, News, Place, ServerSentEvent, make_event

if TYPE_CHECKING:
    from uuid import UUID

# Seconds between two looks at the database.
LOOK_INTERVAL = 0.5
# Seconds of pause after a failed look.
RETRY_PAUSE = 2.0
# Seconds without an answer after which listeners are told that nothing is known.
SILENCE = 3.0
# Looks that one listener may be behind.
MOST_WAITING = 200
UNAVAILABLE = make_event("unavailable", {})
# The empty news ends an inbox; it is compared with ==.
END: News = []

Result = TypeVar("Result")
Inbox = asyncio.Queue[News]
logger = structlog.get_logger(__name__)
_threads = ThreadPoolExecutor(2, "stream")
_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Channel]] = WeakKeyDictionary()


async def in_thread(ask: Callable[[], Result]) -> Result:
    """Return the result of ``ask``, called in one of the few threads that streams have for the database."""

    def ask_and_close() -> Result:
        try:
            return ask()
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_threads, ask_and_close)


@contextlib.contextmanager
def open_channel(live_id: UUID) -> Iterator[Channel]:
    """Return the channel of a live scheduler, which looks for as long as anybody is in here."""
    channels = _hubs.setdefault(asyncio.get_running_loop(), {})
    channel = channels.get(live_id) or channels.setdefault(live_id, Channel(live_id))
    channel.users += 1
    try:
        yield channel
    finally:
        channel.users -= 1
        if not channel.users:
            del channels[live_id]
            channel.looking.cancel()


class Channel:
    """Looks at one live scheduler, and puts its news into the inbox of each listener."""

    def __init__(self, live_id: UUID) -> None:
        self.users = 0
        self.first_look_done = asyncio.Event()
        self.failing = False
        # The place of the last decision that was sent.
        self.place: Place | None = None
        # The event that sent the status last.
        self.status = ServerSentEvent("")
        self._inboxes: set[Inbox] = set()
        self.looking = asyncio.ensure_future(self._look_repeatedly(LiveFollower(live_id)))

    @contextlib.contextmanager
    def open_inbox(self) -> Iterator[Inbox]:
        """Open an inbox for all news from now on, up to ``END``."""
        inbox: Inbox = asyncio.Queue(MOST_WAITING)
        self._inboxes.add(inbox)
        try:
            yield inbox
        finally:
            self._inboxes.discard(inbox)

    async def _look_repeatedly(self, following: LiveFollower) -> None:
        while not following.is_deleted:
            future = asyncio.ensure_future(in_thread(following.read_news))
            if not (await asyncio.wait({future}, timeout=SILENCE))[0]:
                self._note_failure("no answer")
            try:
                news = await future
            except Exception as error:
                self._note_failure(type(error).__name__)
                await asyncio.sleep(RETRY_PAUSE)
                continue
            self.place, self.status = following.place, following.status
            if self.failing and self.status not in news:
                # Listeners were told that nothing is known: send them the status again.
                news.append(self.status)
            self.failing = False
            if news:
                self._send_news(news)
            self.first_look_done.set()
            await asyncio.sleep(LOOK_INTERVAL)
        self._send_news(END)

    def _note_failure(self, reason: str) -> None:
        if not self.failing:
            logger.warning("stream_cannot_look", reason=reason)
            self.failing = True
            self._send_news([UNAVAILABLE])

    def _send_news(self, news: News) -> None:
        for inbox in list(self._inboxes):
            # Nobody reads there. A reader that comes back gets what it missed.
            if inbox.full():
                self._inboxes.discard(inbox)
                inbox.get_nowait()
                inbox.put_nowait(END)
            else:
                inbox.put_nowait(news)
