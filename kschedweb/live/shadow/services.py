"""Store verdicts, and delete old ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils import timezone

from kschedweb.live.schedulers.decisions.retention import beyond_limits
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.live.shadow.models import ShadowVerdict
from kschedweb.web.deletion import delete_batches

if TYPE_CHECKING:
    from datetime import datetime

BATCH = 500


def verdicts_store(*, rows: Sequence[ShadowVerdict]) -> None:
    """Store ``rows``; those that are stored already stay as they are."""
    ShadowVerdict.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def verdicts_clean(*, now: datetime | None = None) -> int:
    """Delete verdicts beyond the limits that each live scheduler has for decisions. Return the number of rows."""
    now = now or timezone.now()
    return sum(
        delete_batches(beyond_limits(ShadowVerdict.objects.filter(scheduler=live), live, now))
        for live in LiveScheduler.objects.all()
    )
