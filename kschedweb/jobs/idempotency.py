"""The rows behind the ``Idempotency-Key`` header."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from kschedweb.jobs.models import IdempotencyKey

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

KEPT = timedelta(hours=24)
# A request that has not answered by now died with its process.
ABANDONED = timedelta(minutes=5)


@transaction.atomic
def key_claim(*, user: User, key: str, digest: str) -> tuple[IdempotencyKey, bool]:
    """The row of ``key`` and whether the caller now owns it (it is new, expired, or was abandoned)."""
    now = timezone.now()
    row, created = IdempotencyKey.objects.get_or_create(
        user=user, key=key, defaults={"digest": digest, "created_at": now}
    )
    if created:
        return row, True
    stale = now - (KEPT if row.status else ABANDONED)
    taken = IdempotencyKey.objects.filter(pk=row.pk, status=row.status, created_at=row.created_at, created_at__lt=stale)
    if taken.update(digest=digest, status=0, body=None, created_at=now):
        row.refresh_from_db()
        return row, True
    return row, False


def key_answered(*, row: IdempotencyKey, status: int, body: Any) -> None:
    """Keep the answer; ``body`` is plain JSON without secrets."""
    IdempotencyKey.objects.filter(pk=row.pk, status=0, created_at=row.created_at).update(status=status, body=body)


def key_released(*, row: IdempotencyKey) -> None:
    """Forget the key: nothing was done, so the same request may be tried again."""
    IdempotencyKey.objects.filter(pk=row.pk, status=0, created_at=row.created_at).delete()
