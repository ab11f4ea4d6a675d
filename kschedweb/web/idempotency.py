"""The rows behind the ``Idempotency-Key`` header."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

# How long an answer can be replayed.
RETENTION = timedelta(hours=24)
# After this time, a request without an answer died with its process.
ABANDONED = timedelta(minutes=5)


class IdempotencyKey(models.Model):
    """A POST with a key: its digest and its answer."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    # The HTTP status of the answer; 0 while it is in progress.
    status = models.PositiveSmallIntegerField(default=0)
    # Plain JSON without secrets.
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        app_label = "jobs"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_a_user")]


@transaction.atomic
def key_claim(*, user: int, key: str, digest: str) -> tuple[IdempotencyKey, bool]:
    """Return the row of a user's ``key``, and whether the caller owns it: it was new, expired or abandoned."""
    now = timezone.now()
    row, created = IdempotencyKey.objects.get_or_create(
        user_id=user, key=key, defaults={"digest": digest, "created_at": now}
    )
    if created:
        return row, True
    stale = now - (RETENTION if row.status else ABANDONED)
    # The conditions repeat what was read, so that only one of several requests takes the row over.
    stale_rows = IdempotencyKey.objects.filter(
        pk=row.pk, status=row.status, created_at=row.created_at, created_at__lt=stale
    )
    if stale_rows.update(digest=digest, status=0, body=None, created_at=now):
        row.refresh_from_db()
        return row, True
    return row, False


def key_answered(*, row: IdempotencyKey, status: int, body: Any) -> None:
    """Store the answer; ``body`` is plain JSON without secrets."""
    IdempotencyKey.objects.filter(pk=row.pk, status=0, created_at=row.created_at).update(status=status, body=body)


def key_released(*, row: IdempotencyKey) -> None:
    """Delete the key. Nothing was done, so the same request may be tried again."""
    IdempotencyKey.objects.filter(pk=row.pk, status=0, created_at=row.created_at).delete()
