"""Retention of rows in tables that grow by themselves. docs/operations.md lists it.

Apps register their tables in ``ready``. Objects that people make, such as policies and scenarios, stay until people
delete them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from django.apps import apps
from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from kschedweb.web.deletion import BATCH, delete_batches

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class RetentionRule:
    """A rule that deletes rows of ``model`` some time after the field ``time``."""

    model: str
    time: str
    # An entry of settings.KEEP_DAYS, or a duration; None if ``time`` itself is the time of expiry.
    keep: str | timedelta | None = None
    # Limits the rule to some rows of the model.
    rows: Q = field(default_factory=Q)
    # True if the time has no index, but keys grow with it.
    by_key: bool = False

    def delete_expired(self) -> int:
        """Delete expired rows, oldest first. Returns their number."""
        keep = timedelta(days=settings.KEEP_DAYS[self.keep]) if isinstance(self.keep, str) else self.keep
        if isinstance(self.keep, str) and not keep:
            # 0 days mean for ever.
            return 0
        before = timezone.now() - (keep or timedelta())
        rows = apps.get_model(self.model)._default_manager.filter(self.rows)
        old = {f"{self.time}__lt": before}
        if not self.by_key:
            return delete_batches(rows.filter(**old).order_by(self.time))
        return delete_batches(rows.filter(pk__in=rows.order_by("pk").values("pk")[:BATCH], **old))


RULES: list[RetentionRule] = []
# By table.
CLEANINGS: dict[str, Callable[[], int]] = {}


def register_rules(*rules: RetentionRule) -> None:
    """Register an app's ``rules``."""
    RULES.extend(rules)
    CLEANINGS.update({rule.model: rule.delete_expired for rule in rules})


def register_cleaning(model: str, clean: Callable[[], int]) -> None:
    """Register a cleaning of ``model`` with its own limits; ``clean`` returns the number of deleted rows."""
    CLEANINGS[model] = clean


def rows_delete() -> dict[str, int]:
    """Delete expired rows. Returns their numbers by table. A failure for one table does not stop the others."""
    deleted = {}
    for table, cleaning in CLEANINGS.items():
        begun = time.monotonic()
        try:
            deleted[table] = cleaning()
        except Exception:
            logger.exception("rows_not_deleted", table=table)
            continue
        if deleted[table]:
            logger.info("rows_deleted", table=table, rows=deleted[table], seconds=round(time.monotonic() - begun, 3))
    return {table: rows for table, rows in deleted.items() if rows}
