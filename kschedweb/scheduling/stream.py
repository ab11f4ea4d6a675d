"""What happens in a live scheduler as server-sent events: its status when that changes, and each decision.

A stream ends after a minute and the browser asks again with the last id that it saw, so that a session that has ended,
or a role that was taken away, is noticed. Under WSGI, where a stream would hold a whole thread, each answer ends at
once.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.core.serializers.json import DjangoJSONEncoder
from django.db import close_old_connections
from django.db.models import Q
from django.http import StreamingHttpResponse
from django.utils import timezone

from kschedweb.scheduling import selectors
from kschedweb.scheduling.status import status_of

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.scheduling.models import LiveDecision, LiveScheduler

EVERY = 0.5  # seconds between two looks at the database
LASTS = 60.0  # seconds
AGAIN = 2000  # milliseconds after which a browser asks again
MOST = 100  # decisions told one by one at each look; of more, the number alone
Place = tuple[datetime, UUID]


def stream(request: HttpRequest, live: LiveScheduler, after: str) -> StreamingHttpResponse:
    """The events after the decision whose place ``after`` is, "" for those from now on."""
    following = Following(live, _place(after))
    events = following.for_a_while() if isinstance(request, ASGIRequest) else following.once()
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # a proxy must not keep events back
    return response


class Following:
    """One who listens: what they were told last."""

    def __init__(self, live: LiveScheduler, place: Place | None) -> None:
        self._id = live.pk
        self._place = place
        self._told: dict[str, Any] = {}

    def once(self) -> Iterator[str]:
        yield f"retry: {AGAIN}\n\n"
        yield self.news()

    async def for_a_while(self) -> AsyncIterator[str]:
        until = time.monotonic() + LASTS
        yield f"retry: {AGAIN}\n\n"
        while time.monotonic() < until:
            # An empty line keeps the connection known to be alive; it is no event.
            yield await sync_to_async(self._looked, thread_sensitive=False)() or ":\n\n"
            await asyncio.sleep(EVERY)

    def _looked(self) -> str:
        close_old_connections()
        try:
            return self.news()
        finally:
            close_old_connections()

    def news(self) -> str:
        """The events since the last call; "" for none."""
        live = selectors.live_list().filter(pk=self._id).first()
        if live is None:
            return _event("deleted", {})
        decisions, more = self._decisions(live)
        events = [_event("decision", told(row), _key((row.at, row.pk))) for row in decisions]
        if more:
            events.append(_event("skipped", {"decisions": f"more than {MOST}"}))
        now = status_of(live).to_dict()
        if (shown := _without_clock(now)) != self._told:
            self._told = shown
            # It has an id too, so that one who comes again later is told what was decided in between.
            events.append(_event("status", now, _key(self._place)))
        return "".join(events)

    def _decisions(self, live: LiveScheduler) -> tuple[list[LiveDecision], bool]:
        """The decisions since the last call, oldest first, and whether there were too many to tell."""
        newest_first = selectors.decision_list(live).order_by("-at", "-id")
        if self._place is None:
            newest = newest_first.first()
            self._place = (newest.at, newest.pk) if newest else (timezone.now(), UUID(int=0))
            return [], False
        at, key = self._place
        found = list(newest_first.filter(Q(at__gt=at) | Q(at=at, pk__gt=key), at__gte=at)[: MOST + 1])
        if found:
            self._place = (found[0].at, found[0].pk)
        return found[:MOST][::-1], len(found) > MOST


def told(row: LiveDecision) -> dict[str, Any]:
    """A decision as an event tells it."""
    names = ("id", "at", "namespace", "name", "uid", "attempt", "result", "node", "evaluated", "feasible", "message")
    return {name: getattr(row, name) for name in names}


def _key(place: Place | None) -> str:
    return f"{place[0].isoformat()}/{place[1]}" if place else ""


def _place(after: str) -> Place | None:
    """The place that an event's id names; ``None`` for anything else."""
    moment, _, key = after.partition("/")
    try:
        at = datetime.fromisoformat(moment)
        return (at, UUID(key)) if at.tzinfo else None
    except ValueError:
        return None


def _without_clock(status: dict[str, Any]) -> dict[str, Any]:
    """``status`` without what changes each second although nothing happens."""
    candidates = [
        {name: value for name, value in one.items() if name not in ("heartbeat", "ticked_at")}
        for one in status["candidates"]
    ]
    return {**status, "candidates": candidates}


def _event(name: str, data: dict[str, Any], key: str = "") -> str:
    head = f"id: {key}\n" if key else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, cls=DjangoJSONEncoder)}\n\n"
