"""Looks at repositories that are due, by beat."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.policies.repositories import following


@app.task(name="kschedweb.policies.repositories.tasks.look_due", ignore_result=True)  # type: ignore[untyped-decorator]
def look_due() -> int:
    """Look at each repository that is due; how many."""
    close_old_connections()
    found = following.due()
    for repository in found:
        following.repository_look(repository)
    return len(found)
