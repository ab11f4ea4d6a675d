"""Deleting many rows while others read and write: some at a time by their keys, each time a short transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import transaction

if TYPE_CHECKING:
    from django.db.models import QuerySet

BATCH = 1000  # rows a transaction
MOST_BATCHES = 30  # a round; what is left goes in the next one


def delete_batches(due: QuerySet[Any], delete: Callable[[QuerySet[Any]], object] | None = None) -> int:
    """Delete the rows of ``due``, whose order an index has, asked anew for each batch; how many were.

    Between two batches it rests for as long as the last one took. ``delete`` does something else with them instead.
    """
    gone = 0
    for _ in range(MOST_BATCHES):
        begun = time.monotonic()
        keys = list(due.values_list("pk", flat=True)[:BATCH])
        if keys:
            with transaction.atomic():
                # With its key alone: Django reads what it deletes where something else is deleted with it.
                (delete or _delete)(due.model._default_manager.filter(pk__in=keys).only("pk").order_by())
        gone += len(keys)
        if len(keys) < BATCH:
            break
        time.sleep(time.monotonic() - begun)
    return gone


def _delete(rows: QuerySet[Any]) -> None:
    rows.delete()
