"""Reading clusters in the background."""

from __future__ import annotations

from typing import Any

from kschedweb.clusters import services
from kschedweb.clusters.models import Cluster
from kschedweb.errors import NotFound
from kschedweb.jobs.tasks import Progress, job_task


@job_task(name="clusters.refresh", restartable=True)
def refresh(progress: Progress, *, cluster: str) -> dict[str, Any]:
    """Read the cluster with this id into a new snapshot."""
    found = Cluster.objects.filter(pk=cluster).first()
    if found is None:
        raise NotFound("The cluster was deleted before it could be read.")
    snapshot = services.snapshot_read(cluster=found, step=progress.step)
    return {"cluster": found.name, "snapshot": str(snapshot.pk), "counts": snapshot.counts}
