"""Saving what must be unique."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.web.errors import Conflict


@contextmanager
def conflict_where(rows: QuerySet[Any], conflict: Conflict) -> Iterator[None]:
    """Save a row inside; raises ``conflict`` where the database refuses it and one of ``rows`` is there already.

    Any other refusal (a column without a value, say) is a fault of ours, and passes as it is.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        if rows.exists():
            raise conflict from None
        raise
