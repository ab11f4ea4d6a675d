"""The task that looks at due repositories, started by beat."""

from __future__ import annotations

from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.policies.repositories import sync


@app.task(name="kschedweb.policies.repositories.tasks.look_due", ignore_result=True)  # type: ignore[untyped-decorator]
def look_due() -> int:
    """Look at each repository that is due. Returns how many there were."""
    close_old_connections()
    repositories = sync.claim_due_repositories()
    for repository in repositories:
        sync.repository_look(repository)
    return len(repositories)
