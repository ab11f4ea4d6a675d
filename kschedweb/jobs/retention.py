"""The task that cleans up, and conditions for rows of jobs' answers that may go. Beat sends it each minute."""

from __future__ import annotations

from django.db import close_old_connections
from django.db.models import Q
from django.db.models.functions import Now

from kschedweb.celery import app
from kschedweb.jobs.models import ENDED, Pulse
from kschedweb.web.retention import rows_delete

ANSWERED = Q(ended_at__isnull=False) | Q(job=None) | Q(job__state__in=ENDED)
IDLE = Q(job=None) | Q(job__state__in=ENDED)


def beat_heard() -> None:
    """Note that beat and a worker are alive. Only beat sends the task below."""
    Pulse.objects.update_or_create(name=Pulse.BEAT, defaults={"at": Now()})


def clean_up() -> None:
    close_old_connections()
    beat_heard()
    rows_delete()


# The names by which beat sends it. All but the first are those of the release before, and go with the next one.
for _name in (
    "kschedweb.retention.clean",
    "kschedweb.approvals.webhooks.tasks.forget",
    "kschedweb.shadow.tasks.forget",
    "kschedweb.watermarks.tasks.forget",
):
    app.task(name=_name, ignore_result=True)(clean_up)
