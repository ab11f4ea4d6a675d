"""The events of a live scheduler as a stream: first those that a listener has missed, then those of the hub.

A stream ends after a minute, and the browser asks again with the last id that it saw. So a session that has ended, or
a role that was taken away, takes effect. Under WSGI, where a stream would hold a whole thread, each answer ends at
once.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError, InterfaceError
from django.http import StreamingHttpResponse

from kschedweb.accounts.reach import namespaces_of
from kschedweb.live.schedulers.streaming.events import LiveFollower, News, Place, decisions_after, place_of, text_of
from kschedweb.live.schedulers.streaming.hub import END, UNAVAILABLE, in_thread, open_channel
from kschedweb.web.errors import TooManyRequests

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest

    from kschedweb.live.schedulers.models import LiveScheduler

# Seconds that a stream lasts.
LASTS = 60.0
# Milliseconds after which a browser asks again.
RETRY_LINE = "retry: 2000\n\n"
# Seconds of silence after which a comment is sent, so that proxies see a living connection.
ALIVE_EVERY = 5.0
# A comment of the protocol, which is no event.
ALIVE = ":\n\n"

Result = TypeVar("Result")
# Open streams by the user's id.
_open: Counter[int | None] = Counter()
_lock = Lock()


def stream_events(request: HttpRequest, live: LiveScheduler, after: str) -> StreamingHttpResponse:
    """Return the stream of events after the decision at the place ``after``; "" for those from now on."""
    place, namespaces = place_of(after), namespaces_of(live.cluster_id)
    events = (
        Listener(live.pk, place, request.user.pk, namespaces)
        if isinstance(request, ASGIRequest)
        else [RETRY_LINE, text_of(LiveFollower(live.pk, place).read_news(), namespaces)]
    )
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # nginx must not buffer events.
    response["X-Accel-Buffering"] = "no"
    return response


class Listener:
    """One person's stream, counted until it is closed. Raises TooManyRequests if the person has too many.

    ``namespaces`` are those that the person may view; None stands for all.
    """

    def __init__(
        self, live_id: UUID, place: Place | None, person: int | None, namespaces: frozenset[str] | None
    ) -> None:
        self._live, self._place, self._person, self._seen = live_id, place, person, namespaces
        with _lock:
            if _open[person] >= settings.STREAMS_PER_PERSON:
                raise TooManyRequests(
                    f"You have {settings.STREAMS_PER_PERSON} streams of live schedulers open, and nobody may have "
                    "more. Close some of their pages."
                )
            _open[person] += 1
        self._counted = True

    def close(self) -> None:
        """Uncount the stream. Django calls this when the response has ended, in whichever way."""
        with _lock:
            if self._counted:
                self._counted = False
                _open.subtract([self._person])
                if not _open[self._person]:
                    del _open[self._person]

    async def __aiter__(self) -> AsyncIterator[str]:
        ends = time.monotonic() + LASTS
        yield RETRY_LINE
        with open_channel(self._live) as channel:
            while await _wait_at_most(channel.first_look_done.wait(), ALIVE_EVERY) is None:
                yield UNAVAILABLE.text if channel.failing else ALIVE
            with channel.open_inbox() as inbox:
                # Nothing awaits between these lines: the inbox begins exactly where the missed events end.
                place, status = channel.place, channel.status
                try:
                    yield text_of([*await self._read_missed(place), status], self._seen)
                except (DatabaseError, InterfaceError):
                    return  # The browser comes back and asks for the same.
                while time.monotonic() < ends:
                    news = await _wait_at_most(inbox.get(), ALIVE_EVERY)
                    if news == END:
                        return
                    yield text_of(news or (), self._seen) or ALIVE

    async def _read_missed(self, end: Place | None) -> News:
        after = self._place
        if after is None or end is None or after >= end:
            return []
        news, _ = await in_thread(lambda: decisions_after(self._live, after, end))
        return news


async def _wait_at_most(awaited: Awaitable[Result], seconds: float) -> Result | None:
    try:
        return await asyncio.wait_for(awaited, seconds)
    except TimeoutError:
        return None
