"""Deletes many rows while others read and write: in batches by key, each in a short transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import transaction

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Rows of a transaction.
BATCH = 1000
# Batches of a round; the rest is deleted in the next one.
MOST_BATCHES = 30


def delete_batches(due: QuerySet[Any], delete: Callable[[QuerySet[Any]], object] | None = None) -> int:
    """Delete the rows of ``due``, which is queried for each batch and needs an index for its order. Returns the number.

    Between two batches it sleeps for as long as the last one took. ``delete`` replaces the deletion of a batch.
    """
    deleted = 0
    for _ in range(MOST_BATCHES):
        begun = time.monotonic()
        keys = list(due.values_list("pk", flat=True)[:BATCH])
        if keys:
            with transaction.atomic():
                # With the key only, because Django loads rows whose deletion cascades.
                (delete or _delete_rows)(due.model._default_manager.filter(pk__in=keys).only("pk").order_by())
        deleted += len(keys)
        if len(keys) < BATCH:
            break
        # Half of the time others can write without waiting.
        time.sleep(time.monotonic() - begun)
    return deleted


def _delete_rows(rows: QuerySet[Any]) -> None:
    rows.delete()
