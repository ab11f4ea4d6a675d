"""Background collection. Every few seconds beat looks for due clusters, each of which is collected by its own task.

Runs are claimed in the database, so that two beats, a task delivered twice or a dead worker do no harm.
"""

from __future__ import annotations

import time

import structlog
from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.watermarks import services
from kschedweb.watermarks.annotations.selectors import annotating_get
from kschedweb.watermarks.annotations.tasks import annotate
from kschedweb.watermarks.models import SourceKind, WatermarkSource

logger = structlog.get_logger(__name__)


@app.task(name="kschedweb.watermarks.tasks.collect_due", ignore_result=True)  # type: ignore[untyped-decorator]
def collect_due() -> int:
    """Send a task for each due cluster. Returns their number."""
    close_old_connections()
    now = time.time()
    sources = WatermarkSource.objects.exclude(kind=SourceKind.NONE).values_list("pk", "interval", "slot")
    due = [(pk, interval) for pk, interval, slot in sources if slot < int(now) // interval]
    for pk, interval in due:
        # A task that could not start within its interval is useless: the next one is due.
        collect.apply_async([str(pk)], expires=interval)
    return len(due)


@app.task(name="kschedweb.watermarks.tasks.collect", ignore_result=True)  # type: ignore[untyped-decorator]
def collect(cluster_id: str, due_only: bool = True) -> bool:
    """Collect the figures of one cluster. Returns False if another run is active, or none is due."""
    close_old_connections()
    now = time.time()
    source = services.run_claim(cluster_id=cluster_id, now=now, due_only=due_only)
    if source is None:
        return False
    report = services.run_collection(source=source, now=now)
    logger.info("watermarks_collected", cluster=source.cluster.name, nodes=report.nodes, seconds=report.seconds)
    if annotating_get(source.cluster).writes:
        annotate.apply_async([cluster_id, float(source.interval)], expires=source.interval)
    return True
