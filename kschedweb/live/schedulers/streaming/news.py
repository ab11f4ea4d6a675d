"""What is new in a live scheduler, as server-sent events: its status when that changes, and each decision."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q
from django.utils import timezone

from kschedweb.live.schedulers import selectors
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.live.schedulers.status import status_of

if TYPE_CHECKING:
    from django.db.models import QuerySet

MOST = 100  # decisions told one by one at each look; of more, the number alone
Place = tuple[datetime, UUID]


@dataclass(frozen=True)
class Event:
    """The text of a server-sent event; ``namespace`` is that of the pod that it is about, "" is for everybody."""

    text: str
    namespace: str = ""


News = list[Event]


def text_of(news: Iterable[Event], namespaces: frozenset[str] | None) -> str:
    """What somebody is told who sees these namespaces; ``None``: all of them."""
    return "".join(one.text for one in news if namespaces is None or one.namespace in ("", *namespaces))


class Following:
    """One who looks again and again: what they saw last."""

    def __init__(self, live_id: UUID, place: Place | None = None) -> None:
        self.place = place
        self.status = Event("")  # that told it last
        self.gone = False
        self._id = live_id
        self._told: dict[str, Any] = {}

    def news(self) -> News:
        """The events since the last call."""
        live = selectors.live_list().filter(pk=self._id).first()
        if live is None:
            self.gone = True
            return [event("deleted", {})]
        decisions = self._decisions()
        now = status_of(live).to_dict()
        if (shown := _without_clock(now)) == self._told:
            return decisions
        self._told = shown
        # It has an id too, so that one who comes again later is told what was decided in between.
        self.status = event("status", now, place_key(self.place))
        return [*decisions, self.status]

    def _decisions(self) -> News:
        if self.place is None:
            newest = _decisions(self._id).first()
            self.place = (newest.at, newest.pk) if newest else (timezone.now(), UUID(int=0))
            return []
        news, self.place = decisions_after(self._id, self.place)
        return news


def decisions_after(live_id: UUID, place: Place, until: Place | None = None) -> tuple[News, Place]:
    """The events of the decisions after ``place`` (up to ``until``), oldest first, and the place of the last."""
    at, key = place
    found = _decisions(live_id).filter(Q(at__gt=at) | Q(at=at, pk__gt=key), at__gte=at)
    if until is not None:
        found = found.filter(Q(at__lt=until[0]) | Q(at=until[0], pk__lte=until[1]))
    rows = list(found[: MOST + 1])
    if not rows:
        return [], place
    events = [
        event("decision", told(row), place_key((row.at, row.pk)), namespace=row.namespace) for row in rows[:MOST][::-1]
    ]
    if len(rows) > MOST:
        events.append(event("skipped", {"decisions": f"more than {MOST}"}))
    return events, (rows[0].at, rows[0].pk)


def _decisions(live_id: UUID) -> QuerySet[LiveDecision]:
    return LiveDecision.objects.filter(scheduler=live_id).order_by("-at", "-id")


def told(row: LiveDecision) -> dict[str, Any]:
    """A decision as an event tells it."""
    names = ("id", "at", "namespace", "name", "uid", "attempt", "result", "node", "evaluated", "feasible", "message")
    return {name: getattr(row, name) for name in names}


def place_key(place: Place | None) -> str:
    return f"{place[0].isoformat()}/{place[1]}" if place else ""


def place_of(key: str) -> Place | None:
    """The place that an event's id names; ``None`` for anything else."""
    moment, _, number = key.partition("/")
    try:
        at = datetime.fromisoformat(moment)
        return (at, UUID(number)) if at.tzinfo else None
    except ValueError:
        return None


def _without_clock(status: dict[str, Any]) -> dict[str, Any]:
    """``status`` without what changes each second although nothing happens."""
    candidates = [
        {name: value for name, value in one.items() if name not in ("heartbeat", "silent_seconds", "ticked_at")}
        for one in status["candidates"]
    ]
    return {**status, "candidates": candidates}


def event(name: str, data: dict[str, Any], key: str = "", *, namespace: str = "") -> Event:
    head = f"id: {key}\n" if key else ""
    return Event(f"{head}event: {name}\ndata: {json.dumps(data, cls=DjangoJSONEncoder)}\n\n", namespace)
