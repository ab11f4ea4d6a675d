"""Periodic tasks about requests: expired ones are decided even if no scheduler and no person looks."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.live.approvals import services


@app.task(name="kschedweb.approvals.tasks.expire", ignore_result=True)  # type: ignore[untyped-decorator]
def expire() -> int:
    """Decide expired requests by the default of their rules, and return how many."""
    close_old_connections()
    return services.requests_expire()
