"""News of a live scheduler as server-sent events: its status when that changes, and each decision."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q
from django.utils import timezone

from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers import selectors
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.live.schedulers.status import status_of

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Decisions sent one by one at each look; of more, only the number is sent.
MAX_DECISIONS = 100
Place = tuple[datetime, UUID]


@dataclass(frozen=True)
class ServerSentEvent:
    """The text of a server-sent event."""

    text: str
    # The namespace of the pod that it is about; "" is for everybody.
    namespace: str = ""


News = list[ServerSentEvent]


def text_of(news: Iterable[ServerSentEvent], namespaces: frozenset[str] | None) -> str:
    """Return the text for a person who may view these namespaces; None stands for all."""
    return "".join(event.text for event in news if namespaces is None or event.namespace in ("", *namespaces))


class LiveFollower:
    """A reader that looks again and again, and remembers what it saw last."""

    def __init__(self, live_id: UUID, place: Place | None = None) -> None:
        # The place of the last decision that was sent.
        self.place = place
        # The event that sent the status last.
        self.status = ServerSentEvent("")
        self.is_deleted = False
        self._id = live_id
        self._told: Json = {}

    def read_news(self) -> News:
        """Return the events since the last call."""
        live = selectors.live_list().filter(pk=self._id).first()
        if live is None:
            self.is_deleted = True
            return [make_event("deleted", {})]
        decisions = self._new_decisions()
        now = status_of(live).to_dict()
        if (visible_status := _without_clock(now)) == self._told:
            return decisions
        self._told = visible_status
        # It carries an id too, so that a reader that comes back later gets the decisions made in between.
        self.status = make_event("status", now, place_key(self.place))
        return [*decisions, self.status]

    def _new_decisions(self) -> News:
        if self.place is None:
            newest = _query_decisions(self._id).first()
            self.place = (newest.at, newest.pk) if newest else (timezone.now(), UUID(int=0))
            return []
        news, self.place = decisions_after(self._id, self.place)
        return news


def decisions_after(live_id: UUID, place: Place, end: Place | None = None) -> tuple[News, Place]:
    """Return the events of the decisions after ``place`` (up to ``end``), oldest first, and the last one's place."""
    at, key = place
    # Several decisions share a moment, so the key decides; ``at__gte`` lets the database use the index.
    decisions = _query_decisions(live_id).filter(Q(at__gt=at) | Q(at=at, pk__gt=key), at__gte=at)
    if end is not None:
        decisions = decisions.filter(Q(at__lt=end[0]) | Q(at=end[0], pk__lte=end[1]))
    rows = list(decisions[: MAX_DECISIONS + 1])
    if not rows:
        return [], place
    events = [
        make_event("decision", describe_decision(row), place_key((row.at, row.pk)), namespace=row.namespace)
        for row in rows[:MAX_DECISIONS][::-1]
    ]
    if len(rows) > MAX_DECISIONS:
        events.append(make_event("skipped", {"decisions": f"more than {MAX_DECISIONS}"}))
    return events, (rows[0].at, rows[0].pk)


def _query_decisions(live_id: UUID) -> QuerySet[LiveDecision]:
    return LiveDecision.objects.filter(scheduler=live_id).order_by("-at", "-id")


def describe_decision(row: LiveDecision) -> Json:
    """Return the data of a decision's event."""
    names = ("id", "at", "namespace", "name", "uid", "attempt", "result", "node", "evaluated", "feasible", "message")
    return {name: getattr(row, name) for name in names}


def place_key(place: Place | None) -> str:
    return f"{place[0].isoformat()}/{place[1]}" if place else ""


def place_of(key: str) -> Place | None:
    """Return the place that an event's id names; None for any other text."""
    moment, _, number = key.partition("/")
    try:
        at = datetime.fromisoformat(moment)
        return (at, UUID(number)) if at.tzinfo else None
    except ValueError:
        return None


def _without_clock(status: Json) -> Json:
    """Return ``status`` without the fields that change each second although nothing happens."""
    candidates = [
        {name: value for name, value in candidate.items() if name not in ("heartbeat", "silent_seconds", "ticked_at")}
        for candidate in status["candidates"]
    ]
    return {**status, "candidates": candidates}


def make_event(name: str, data: Json, key: str = "", *, namespace: str = "") -> ServerSentEvent:
    head = f"id: {key}\n" if key else ""
    return ServerSentEvent(f"{head}event: {name}\ndata: {json.dumps(data, cls=DjangoJSONEncoder)}\n\n", namespace)
