"""Celery sends messages: at once when they are stored, and by beat if a try failed or its task was lost."""

from __future__ import annotations

from django.db import close_old_connections
from django.utils import timezone

from kschedweb.celery import app
from kschedweb.live.approvals.webhooks import decision_messages, services


@app.task(name=services.TASK, ignore_result=True)  # type: ignore[untyped-decorator]
def deliver(delivery_id: str) -> bool:
    """Try once to send one message."""
    close_old_connections()
    return services.delivery_try(delivery_id)


@app.task(name="kschedweb.approvals.webhooks.tasks.deliver_due", ignore_result=True)  # type: ignore[untyped-decorator]
def deliver_due() -> int:
    """Queue a task for each message whose next try is due, and return how many."""
    close_old_connections()
    waiting = services.list_due(now=timezone.now())
    for delivery_id in waiting:
        deliver.apply_async([delivery_id], expires=60)
    return len(waiting)


@app.task(name="kschedweb.approvals.webhooks.tasks.tell_decisions", ignore_result=True)  # type: ignore[untyped-decorator]
def tell_decisions() -> int:
    """Notify endpoints of decisions since the last time, and return how many messages were queued."""
    close_old_connections()
    return decision_messages.decisions_tell(now=timezone.now())
