"""Workers reconcile jobs when they begin to take messages: at their start, and whenever the broker was away."""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from django.conf import settings
from django.utils import timezone

from kschedweb.jobs import vitals  # noqa: F401  registers what a worker answers
from kschedweb.jobs.tasks import reconcile
from kschedweb.web.errors import Unavailable

_process_began = timezone.now()


class MendStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """A step that Celery starts each time that a worker has connected to the broker."""

    requires = {"celery.worker.consumer.tasks:Tasks"}

    def start(self, consumer: Any) -> None:
        consumer.app.broker_is_back()
        mend_jobs()


def mend_jobs() -> None:
    """Send out lost jobs. Embedded, there is no other worker whose runs could be alive."""
    embedded = not settings.REDIS_URL
    try:
        reconcile.delay(_process_began.isoformat() if embedded else None)
    except Unavailable:
        # The broker is gone again, so there will be another start.
        return
