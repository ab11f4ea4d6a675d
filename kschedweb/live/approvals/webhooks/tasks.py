"""Messages go out by Celery: at once when they are made, and by beat where a try failed or its message was lost."""

from __future__ import annotations

from django.db import close_old_connections
from django.utils import timezone

from kschedweb.celery import app
from kschedweb.live.approvals.webhooks import decision_messages, services


@app.task(name=services.TASK, ignore_result=True)  # type: ignore[untyped-decorator]
def deliver(delivery_id: str) -> bool:
    """One try to hand over one message."""
    close_old_connections()
    return services.delivery_try(delivery_id)


@app.task(name="kschedweb.approvals.webhooks.tasks.deliver_due", ignore_result=True)  # type: ignore[untyped-decorator]
def deliver_due() -> int:
    """Send a task for each message whose next try is due; how many."""
    close_old_connections()
    waiting = services.list_due(now=timezone.now())
    for delivery_id in waiting:
        deliver.apply_async([delivery_id], expires=60)
    return len(waiting)


@app.task(name="kschedweb.approvals.webhooks.tasks.tell_decisions", ignore_result=True)  # type: ignore[untyped-decorator]
def tell_decisions() -> int:
    """Tell endpoints what live schedulers decided since the last time; how many messages."""
    close_old_connections()
    return decision_messages.decisions_tell(now=timezone.now())
