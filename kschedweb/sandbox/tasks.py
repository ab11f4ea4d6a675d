"""The task that keeps the sandbox's snapshots up to date."""

from __future__ import annotations

import structlog
from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.clusters.services import snapshot_read
from kschedweb.sandbox.selectors import list_sandboxes
from kschedweb.web.errors import ApplicationError

logger = structlog.get_logger(__name__)


@app.task(name="kschedweb.sandbox.tasks.read", ignore_result=True)  # type: ignore[untyped-decorator]
def read_sandboxes() -> int:
    """Read each sandbox that runs here into a new snapshot. Returns their number."""
    close_old_connections()
    clusters = list(list_sandboxes())
    for cluster in clusters:
        try:
            snapshot_read(cluster=cluster, step=lambda *_: None)
        except ApplicationError as error:
            logger.warning("sandbox_not_read", error=error.detail)
        # A sandbox may hold anything: the others must still be read.
        except Exception:
            logger.exception("sandbox_not_read", cluster=cluster.name)
    return len(clusters)
