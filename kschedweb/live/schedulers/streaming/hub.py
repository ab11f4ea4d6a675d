"""One look at each live scheduler that anybody listens to in this process, told to all who do.

However many listen, a scheduler costs two small queries twice a second; between them nobody holds a connection.
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

from kschedweb.live.schedulers.streaming.news import Event, Following, News, Place, event

if TYPE_CHECKING:
    from uuid import UUID

EVERY = 0.5  # seconds between two looks at the database
REST = 2.0  # seconds after one that failed
SILENCE = 3.0  # seconds without an answer after which listeners are told so
MOST_WAITING = 200  # looks that one listener may be behind
UNAVAILABLE = event("unavailable", {})
END: News = []

Result = TypeVar("Result")
Inbox = asyncio.Queue[News]
logger = structlog.get_logger(__name__)
_threads = ThreadPoolExecutor(2, "stream")
_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Channel]] = WeakKeyDictionary()


async def in_thread(ask: Callable[[], Result]) -> Result:
    """What ``ask`` reads from the database, in one of the few threads that streams have."""

    def asked() -> Result:
        try:
            return ask()
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_threads, asked)


@contextlib.contextmanager
def channel(live_id: UUID) -> Iterator[Channel]:
    """The channel of a live scheduler; it looks for as long as somebody is in here."""
    channels = _hubs.setdefault(asyncio.get_running_loop(), {})
    found = channels.get(live_id) or channels.setdefault(live_id, Channel(live_id))
    found.users += 1
    try:
        yield found
    finally:
        found.users -= 1
        if not found.users:
            del channels[live_id]
            found.looking.cancel()


class Channel:
    """Looks at one live scheduler, and puts what is new into the inbox of each listener."""

    def __init__(self, live_id: UUID) -> None:
        self.users = 0
        self.known = asyncio.Event()  # the first look is done
        self.failing = False
        self.place: Place | None = None  # of the last decision that was told
        self.status = Event("")  # that told it last
        self._inboxes: set[Inbox] = set()
        self.looking = asyncio.ensure_future(self._look(Following(live_id)))

    @contextlib.contextmanager
    def inbox(self) -> Iterator[Inbox]:
        """What is told from now on, up to ``END``."""
        inbox: Inbox = asyncio.Queue(MOST_WAITING)
        self._inboxes.add(inbox)
        try:
            yield inbox
        finally:
            self._inboxes.discard(inbox)

    async def _look(self, following: Following) -> None:
        while not following.gone:
            asked = asyncio.ensure_future(in_thread(following.news))
            if not (await asyncio.wait({asked}, timeout=SILENCE))[0]:
                self._fail("no answer")
            try:
                news = await asked
            except Exception as error:
                self._fail(type(error).__name__)
                await asyncio.sleep(REST)
                continue
            self.place, self.status = following.place, following.status
            if self.failing and self.status not in news:
                news.append(self.status)  # the reader was told that nothing is known: tell it the status
            self.failing = False
            if news:
                self._tell(news)
            self.known.set()
            await asyncio.sleep(EVERY)
        self._tell(END)

    def _fail(self, reason: str) -> None:
        if not self.failing:
            logger.warning("stream_cannot_look", reason=reason)
            self.failing = True
            self._tell([UNAVAILABLE])

    def _tell(self, news: News) -> None:
        for inbox in list(self._inboxes):
            if inbox.full():  # nobody reads there; a reader that comes back is told what it missed
                self._inboxes.discard(inbox)
                inbox.get_nowait()
                inbox.put_nowait(END)
            else:
                inbox.put_nowait(news)
