"""Background tasks that read clusters and imported files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from django.conf import settings
from django.db import close_old_connections

from kschedweb.celery import app
from kschedweb.clusters import refresh_schedule, services
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.models import Cluster, Upload
from kschedweb.engine.json_types import Json
from kschedweb.jobs.services import job_problems
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.web.errors import ApplicationError, NotFound

# Seconds between checks for cancellation while waiting.
LOOK = 0.5

_turn = Lock()


@job_task(name="clusters.refresh", restartable=True)
def refresh(progress: Progress, *, cluster: str) -> Json:
    """Read the cluster with this id into a new snapshot."""
    row = Cluster.objects.filter(pk=cluster).first()
    if row is None:
        raise NotFound("The cluster was deleted before it could be read.")
    snapshot = services.snapshot_read(cluster=row, step=progress.step)
    return {"cluster": row.name, "snapshot": str(snapshot.pk), "counts": snapshot.counts}


@app.task(name="kschedweb.clusters.tasks.refresh_due", ignore_result=True)  # type: ignore[untyped-decorator]
def refresh_due() -> int:
    """Start to read the clusters that are due. Returns their number."""
    close_old_connections()
    return len(refresh_schedule.refresh_due())


@job_task(name="clusters.import", restartable=True)
def import_files(progress: Progress, *, upload: str) -> Json:
    """Make a cluster from uploaded files. A process does one import at a time, which limits its memory."""
    row = Upload.objects.select_related("cluster", "created_by").filter(pk=upload).first()
    if row is None:
        raise NotFound("The files are not there any more: send them again.")
    try:
        with _one_at_a_time(progress):
            cluster, snapshot, read = services.cluster_import(
                user=row.created_by,
                name=row.name,
                files=uploads.upload_files(row),
                limit=settings.UPLOAD_LIMIT,
                replace=row.replace,
                upload=row,
                step=progress.step,
            )
    except ApplicationError as error:
        job_problems(progress.job, error.errors)
        raise
    finally:
        # The import may have created the cluster for the upload in the meantime.
        row.refresh_from_db(fields=["cluster"])
        uploads.upload_drop(row)
    return {"cluster": cluster.name, "snapshot": str(snapshot.pk), "counts": snapshot.counts, "left_out": read.left_out}


@contextmanager
def _one_at_a_time(progress: Progress) -> Iterator[None]:
    while not _turn.acquire(timeout=LOOK):
        progress.step("Waiting for another import")
    try:
        yield
    finally:
        _turn.release()
