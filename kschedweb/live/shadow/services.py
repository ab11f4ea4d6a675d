"""Writing verdicts, and forgetting old ones."""

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
    """Keep ``rows``; those that are there already stay as they are."""
    ShadowVerdict.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def verdicts_clean(*, now: datetime | None = None) -> int:
    """Delete what is older, or more, than each live scheduler keeps of decisions; how many rows that were."""
    now = now or timezone.now()
    return sum(
        delete_batches(beyond_limits(ShadowVerdict.objects.filter(scheduler=live), live, now))
        for live in LiveScheduler.objects.all()
    )
