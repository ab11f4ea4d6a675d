"""Messages go out by Celery: at once when they are made, and by beat where a try failed or its message was lost."""

from __future__ import annotations

from django.db import close_old_connections
from django.utils import timezone

from kschedweb.approvals.webhooks import services
from kschedweb.approvals.webhooks.sending import Answer, send
from kschedweb.celery import app
from kschedweb.errors import ApplicationError


@app.task(name=services.TASK, ignore_result=True)  # type: ignore[untyped-decorator]
def deliver(delivery_id: str) -> bool:
    """One try; False where another one does it, or it is not due."""
    close_old_connections()
    delivery = services.delivery_claim(delivery_id=delivery_id, now=timezone.now())
    if delivery is None:
        return False
    try:
        secret = services.secret_of(delivery.endpoint)
        answer = send(url=delivery.endpoint.url, secret=secret, message_id=str(delivery.pk), body=delivery.body)
    except ApplicationError as error:
        answer = Answer(error=error.detail)
    services.delivery_conclude(delivery=delivery, answer=answer, now=timezone.now())
    return answer.ok


@app.task(name="kschedweb.approvals.webhooks.tasks.deliver_due", ignore_result=True)  # type: ignore[untyped-decorator]
def deliver_due() -> int:
    """Send a task for each message whose next try is due; how many."""
    close_old_connections()
    waiting = services.due(now=timezone.now())
    for delivery_id in waiting:
        deliver.apply_async([delivery_id], expires=60)
    return len(waiting)


@app.task(name="kschedweb.approvals.webhooks.tasks.forget", ignore_result=True)  # type: ignore[untyped-decorator]
def forget() -> int:
    """Delete old deliveries."""
    close_old_connections()
    return services.deliveries_forget(now=timezone.now())
