"""The limits of stored decisions: their number and age, and a smaller number with every verdict and score."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from kschedweb.live.schedulers.models import LiveColumns, LiveDecision, LiveScheduler, Result
from kschedweb.web.deletion import delete_batches

if TYPE_CHECKING:
    from datetime import datetime


def beyond_limits(rows: QuerySet[Any], live: LiveScheduler, now: datetime) -> QuerySet[Any]:
    """Return those of ``rows``, which have a time ``at``, that are beyond the limits of ``live``, the oldest first."""
    oldest = now - timedelta(days=live.keep_days)
    # The first row beyond the limit is read from an index alone, however many rows there are.
    first = rows.order_by("-at", "-pk").values_list("at", "pk")[live.keep_decisions : live.keep_decisions + 1]
    due = Q(at__lt=oldest)
    for at, key in first:
        if at >= oldest:
            due = Q(at__lte=at) & (Q(at__lt=at) | Q(pk__lte=key))
    return rows.filter(due).order_by("at", "pk")


def decisions_clean(*, now: datetime | None = None) -> int:
    """Delete what is beyond the limits of each live scheduler, columns first. Return the number of decisions."""
    return sum(_clean_live(live, now or timezone.now()) for live in LiveScheduler.objects.all())


def _clean_live(live: LiveScheduler, now: datetime) -> int:
    # People are asked about decisions that have not ended: these stay, with columns.
    decisions = LiveDecision.objects.filter(scheduler=live)
    ended = Q(ended_at__isnull=False)
    full = decisions.filter(ended, has_columns=True).order_by("-at", "-pk")
    for some in (full.filter(result=Result.BOUND), full.exclude(result=Result.BOUND)):
        # The two kinds count separately, so that many bound pods do not displace those that fit nowhere.
        newest = list(some.values_list("at", "pk")[live.keep_columns : live.keep_columns + 1])
        for at, key in newest:
            delete_batches(some.filter(Q(at__lt=at) | Q(at=at, pk__lte=key), at__lte=at), _columns_delete)
    return delete_batches(beyond_limits(decisions, live, now).filter(ended))


def _columns_delete(decisions: QuerySet[LiveDecision]) -> None:
    LiveColumns.objects.filter(decision__in=decisions).delete()
    decisions.update(has_columns=False)
