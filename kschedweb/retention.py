"""How long rows are kept, of every table that grows by itself; docs/operations.md has it as a table.

Beat has ``clean`` run each minute, in a worker. Policies, scenarios and whatever else people make stay until people
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
from django.db import close_old_connections
from django.db.models import Q
from django.utils import timezone

from kschedweb.approvals.models import Delivered
from kschedweb.celery import app
from kschedweb.clusters.uploads import uploads_forget
from kschedweb.deletion import BATCH, delete_batches
from kschedweb.jobs.models import ENDED, UNFINISHED
from kschedweb.scheduling.retention import decisions_clean
from kschedweb.shadow.services import verdicts_clean
from kschedweb.watermarks.services import samples_forget

logger = structlog.get_logger(__name__)

ANSWERED = Q(ended_at__isnull=False) | Q(job=None) | Q(job__state__in=ENDED)
IDLE = Q(job=None) | Q(job__state__in=ENDED)


@dataclass(frozen=True)
class Rule:
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


RULES = (
    Rule("accounts.AuditEntry", "at", "audit"),
    Rule("approvals.ApprovalRequest", "ended_at", "approvals"),
    Rule("approvals.Delivery", "created_at", "deliveries", ~Q(state=Delivered.PENDING)),
    Rule("jobs.Job", "ended_at", "jobs"),
    Rule("jobs.IdempotencyKey", "created_at", timedelta(days=1)),
    Rule("gate.Gate", "created_at", "answers", ANSWERED),
    Rule("moves.Question", "created_at", "answers", ANSWERED),
    Rule("capacity.Question", "created_at", "answers", ANSWERED),
    Rule("sessions.Session", "expire_date"),
    Rule("axes.AccessLog", "attempt_time", "logins", by_key=True),
    Rule("axes.AccessAttempt", "attempt_time", "logins", by_key=True),
    Rule("axes.AccessFailureLog", "attempt_time", "logins", by_key=True),
    # What people had worked out: for ever, unless the operator says otherwise.
    Rule("runs.Comparison", "created_at", "work", ~Q(runs__job__state__in=UNFINISHED)),
    Rule("runs.Run", "created_at", "work", Q(comparison=None) & IDLE),
    Rule("sweeps.Sweep", "created_at", "work", IDLE),
    Rule("experiments.Experiment", "created_at", "work", IDLE),
    Rule("recordings.Recording", "created_at", "work", IDLE),
)
CLEANINGS: dict[str, Callable[[], int]] = {
    **{rule.model: rule.clean for rule in RULES},
    # By limits of their own: a live scheduler's, a cluster's, an upload's job.
    "scheduling.LiveDecision": decisions_clean,
    "shadow.ShadowVerdict": verdicts_clean,
    "watermarks.Sample": samples_forget,
    "clusters.Upload": uploads_forget,
}


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


def clean() -> None:
    close_old_connections()
    rows_delete()


# The names by which beat asks for it; all but the first are those of the release before, and go with the next one.
for _name in (
    "kschedweb.retention.clean",
    "kschedweb.approvals.webhooks.tasks.forget",
    "kschedweb.shadow.tasks.forget",
    "kschedweb.watermarks.tasks.forget",
):
    app.task(name=_name, ignore_result=True)(clean)
