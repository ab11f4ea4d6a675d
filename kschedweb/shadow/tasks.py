"""Clean-up, once in a while."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.shadow import services


@app.task(name="kschedweb.shadow.tasks.forget", ignore_result=True)  # type: ignore[untyped-decorator]
def forget() -> int:
    """Delete verdicts that are no longer kept; how many."""
    close_old_connections()
    return services.verdicts_forget()
