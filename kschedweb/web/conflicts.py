"""Saves rows with unique fields."""

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
    """Give a context for saving a row. Raises ``conflict`` if the database refuses it and one of ``rows`` exists.

    Other errors of the database, such as a missing value, are bugs and are raised unchanged.
    """
    try:
        # A savepoint, because PostgreSQL refuses queries after an error within a transaction.
        with transaction.atomic():
            yield
    except IntegrityError:
        if rows.exists():
            raise conflict from None
        raise
