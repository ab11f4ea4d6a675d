"""What beat does about requests: those whose time is over are decided even where no scheduler and no person looks."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.live.approvals import services


@app.task(name="kschedweb.approvals.tasks.expire", ignore_result=True)  # type: ignore[untyped-decorator]
def expire() -> int:
    """Decide by their rule's default what nobody decided in time; how many."""
    close_old_connections()
    return services.requests_expire()
