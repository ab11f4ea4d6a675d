from __future__ import annotations

from typing import Any

from celery.signals import worker_ready
from django.apps import AppConfig
from django.conf import settings
from django.utils import timezone

_process_began = timezone.now()


class JobsConfig(AppConfig):
    name = "kschedweb.jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        worker_ready.connect(mend_jobs, dispatch_uid="mend jobs")


def mend_jobs(**_: Any) -> None:
    """A worker starts by mending what the last one left; embedded, there is no other worker whose run could live."""
    from kschedweb.jobs.tasks import reconcile

    embedded = not settings.REDIS_URL
    reconcile.delay(_process_began.isoformat() if embedded else None)
