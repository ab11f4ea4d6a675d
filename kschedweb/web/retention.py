"""How long rows are kept, of every table that grows by itself; docs/operations.md has it as a table.

Apps register their tables when they are ready. Policies, scenarios and whatever else people make stay until people
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
    """Rows of ``model`` go so long after ``time``, a field. ``keep`` is an entry of settings.KEEP_DAYS, a time of
    its own, or none where it says until when a row counts. Of some models only ``rows`` go.
    """

    model: str
    time: str
    keep: str | timedelta | None = None
    rows: Q = field(default_factory=Q)
    by_key: bool = False  # no index has the time, but keys grow with it

    def clean(self) -> int:
        """Delete what is kept no longer, the oldest first; how many rows went."""
        keep = timedelta(days=settings.KEEP_DAYS[self.keep]) if isinstance(self.keep, str) else self.keep
        if isinstance(self.keep, str) and not keep:
            return 0  # for ever
        before = timezone.now() - (keep or timedelta())
        found = apps.get_model(self.model)._default_manager.filter(self.rows)
        old = {f"{self.time}__lt": before}
        if not self.by_key:
            return delete_batches(found.filter(**old).order_by(self.time))
        return delete_batches(found.filter(pk__in=found.order_by("pk").values("pk")[:BATCH], **old))


RULES: list[RetentionRule] = []
CLEANINGS: dict[str, Callable[[], int]] = {}  # by table


def register(*rules: RetentionRule) -> None:
    """Have the rows that an app's ``rules`` name cleaned up."""
    RULES.extend(rules)
    CLEANINGS.update({rule.model: rule.clean for rule in rules})


def register_cleaning(model: str, clean: Callable[[], int]) -> None:
    """Have the rows of ``model`` cleaned up by limits of their own; ``clean`` returns how many went."""
    CLEANINGS[model] = clean


def rows_delete() -> dict[str, int]:
    """Delete what is kept no longer; how many rows of which table. What fails for one table is done for the others."""
    gone = {}
    for table, cleaning in CLEANINGS.items():
        begun = time.monotonic()
        try:
            gone[table] = cleaning()
        except Exception:
            logger.exception("rows_not_deleted", table=table)
            continue
        if gone[table]:
            logger.info("rows_deleted", table=table, rows=gone[table], seconds=round(time.monotonic() - begun, 3))
    return {table: rows for table, rows in gone.items() if rows}
