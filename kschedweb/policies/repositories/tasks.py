"""Looks at repositories that are due, by beat."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.policies.repositories import sync


@app.task(name="kschedweb.policies.repositories.tasks.look_due", ignore_result=True)  # type: ignore[untyped-decorator]
def look_due() -> int:
    """Look at each repository that is due; how many."""
    close_old_connections()
    repositories = sync.claim_due_repositories()
    for repository in repositories:
        sync.repository_look(repository)
    return len(repositories)
