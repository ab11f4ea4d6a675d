"""Tasks that write annotations after a collection or on request."""

from __future__ import annotations

from kschedweb.celery import app
from kschedweb.clusters.models import Cluster
from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.watermarks.annotations import services
from kschedweb.web.errors import ApplicationError, NotFound

# Seconds of writing of a job.
WRITE_SECONDS = 600.0


@app.task(name="watermarks.annotate", ignore_result=True)  # type: ignore[untyped-decorator]
def annotate(cluster: str, seconds: float) -> None:
    """Write the figures of the cluster with this id if that is on, for at most ``seconds``."""
    if cluster_row := Cluster.objects.filter(pk=cluster).first():
        services.annotations_update(cluster=cluster_row, seconds=seconds)


@job_task(name="watermarks.write_annotations", restartable=True)
def write(progress: Progress, *, cluster: str) -> Json:
    """Write the figures as a job with progress."""
    annotating = services.annotations_update(
        cluster=_get_cluster(cluster), seconds=WRITE_SECONDS, step=_make_step(progress, "Writing annotations")
    )
    if annotating is None:
        raise ApplicationError("Annotations are off, or are being written just now.")
    if annotating.error:
        raise ApplicationError(annotating.error)
    return annotating.outcome


@job_task(name="watermarks.remove_annotations", restartable=True)
def remove(progress: Progress, *, cluster: str, own: bool, crane: bool) -> Json:
    """Remove annotations as a job with progress."""
    step = _make_step(progress, "Removing annotations")
    return services.annotations_remove(cluster=_get_cluster(cluster), own_form=own, crane=crane, step=step)


def _get_cluster(pk: str) -> Cluster:
    cluster = Cluster.objects.filter(pk=pk).first()
    if cluster is None:
        raise NotFound("The cluster was deleted in the meantime.")
    return cluster


def _make_step(progress: Progress, text: str) -> services.Step:
    return lambda completed, total: progress.step(text, completed, total)
