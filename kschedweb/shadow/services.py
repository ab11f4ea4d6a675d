"""Writing verdicts, and forgetting old ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils import timezone

from kschedweb.scheduling.models import LiveScheduler
from kschedweb.shadow.models import ShadowVerdict

if TYPE_CHECKING:
    from datetime import datetime

BATCH = 500


def verdicts_store(*, rows: Sequence[ShadowVerdict]) -> None:
    """Keep ``rows``; those that are there already stay as they are."""
    ShadowVerdict.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def verdicts_forget(*, now: datetime | None = None) -> int:
    """Delete what is older, or more, than each live scheduler keeps of decisions; how many rows that were."""
    now = now or timezone.now()
    gone = 0
    for live in LiveScheduler.objects.all():
        rows = ShadowVerdict.objects.filter(scheduler=live)
        gone += rows.filter(at__lt=now - timedelta(days=live.keep_days)).delete()[0]
        last = rows.order_by("-at", "-id").values_list("at", flat=True)[live.keep_decisions : live.keep_decisions + 1]
        for at in last:
            gone += rows.filter(at__lte=at).delete()[0]
    return gone
