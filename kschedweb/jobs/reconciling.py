"""Workers mend jobs when they begin to take messages: at their start, and whenever the broker was away."""

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
    """Celery starts it each time that a worker has connected to the broker."""

    requires = {"celery.worker.consumer.tasks:Tasks"}

    def start(self, consumer: Any) -> None:
        consumer.app.broker_is_back()
        mend_jobs()


def mend_jobs() -> None:
    """Send out what nobody heard of; embedded, no other worker is there whose runs could live."""
    embedded = not settings.REDIS_URL
    try:
        reconcile.delay(_process_began.isoformat() if embedded else None)
    except Unavailable:
        return  # It is gone again: there will be another start.
