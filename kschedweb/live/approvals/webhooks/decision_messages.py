"""Decisions of live schedulers as messages of many decisions: at most one per scheduler, endpoint and look."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import F

from kschedweb.engine.json_types import Json
from kschedweb.live.approvals.models import Endpoint, WebhookEvent
from kschedweb.live.approvals.webhooks import services
from kschedweb.live.approvals.webhooks.messages import WebhookMessage
from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler
from kschedweb.web.links import build_link
from kschedweb.web.outages import find_outage

logger = structlog.get_logger(__name__)

# Rows are written within this time after the moment that they name; a message waits for them.
LATE = timedelta(seconds=10)
# Decisions from before this time are not sent after an outage.
LONGEST = timedelta(hours=1)
# Decisions that a message lists; of the others it has the number.
MAX_DECISIONS = 100
FIELDS = ("namespace", "uid", "attempt", "result", "node", "nominated", "message")


def decisions_tell(*, now: datetime) -> int:
    """Queue messages about all decisions since the last look, and return how many."""
    endpoints = Endpoint.objects.filter(active=True)
    return sum(
        _try_to_tell(endpoint, now - LATE) for endpoint in endpoints if WebhookEvent.DECISIONS in endpoint.events
    )


def _try_to_tell(endpoint: Endpoint, end: datetime) -> int:
    """Call ``_tell_endpoint``, so that one endpoint that fails does not keep the others waiting."""
    try:
        return _tell_endpoint(endpoint, end)
    except Exception as error:
        if find_outage(error):
            raise
        logger.exception("decisions_not_told", endpoint=endpoint.name)
        return 0


@transaction.atomic
def _tell_endpoint(endpoint: Endpoint, end: datetime) -> int:
    """Queue the messages since the last look. Only one process moves the mark, so nothing is sent twice."""
    since = endpoint.told_until
    if not Endpoint.objects.filter(pk=endpoint.pk, told_until=since).update(told_until=end) or since is None:
        return 0
    since = max(since, end - LONGEST)
    queued = 0
    for scheduler in LiveScheduler.objects.select_related("cluster"):
        if (data := _decisions_between(scheduler, since, end)) is not None:
            source = f"/clusters/{scheduler.cluster.name}"
            services.queue_delivery(
                endpoint, WebhookMessage(WebhookEvent.DECISIONS, end, data, source, scheduler.scheduler_name)
            )
            queued += 1
    return queued


def _decisions_between(scheduler: LiveScheduler, since: datetime, end: datetime) -> Json | None:
    decisions = LiveDecision.objects.filter(scheduler=scheduler, at__gt=since, at__lte=end)
    counts = Counter(decisions.order_by().values_list("result", flat=True))
    if not counts:
        return None
    rows = decisions.order_by("at", "id").values("at", *FIELDS, pod=F("name"))[:MAX_DECISIONS]
    listed = [{**row, "at": row["at"].isoformat()} for row in rows]
    return {
        "cluster": scheduler.cluster.name,
        "scheduler": scheduler.scheduler_name,
        "since": since.isoformat(),
        "until": end.isoformat(),
        "counts": dict(counts),
        "decisions": listed,
        "more": counts.total() - len(listed),
        "links": {
            "page": build_link(f"/live/{scheduler.pk}/"),
            "decisions": build_link(f"/api/v1/live/{scheduler.pk}/decisions/"),
        },
    }
