"""Background work: the pages of the sandbox show what is there now."""

from __future__ import annotations

import structlog
from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.clusters.services import snapshot_read
from kschedweb.sandbox.selectors import list_sandboxes
from kschedweb.web.errors import ApplicationError

logger = structlog.get_logger(__name__)


@app.task(name="kschedweb.sandbox.tasks.read", ignore_result=True)  # type: ignore[untyped-decorator]
def read() -> int:
    """Read each sandbox that runs here into a new snapshot; returns their number."""
    close_old_connections()
    clusters = list(list_sandboxes())
    for cluster in clusters:
        try:
            snapshot_read(cluster=cluster, step=lambda *_: None)
        except ApplicationError as error:
            logger.warning("sandbox_not_read", error=error.detail)
        except Exception:  # whatever its objects hold, the others are read
            logger.exception("sandbox_not_read", cluster=cluster.name)
    return len(clusters)
