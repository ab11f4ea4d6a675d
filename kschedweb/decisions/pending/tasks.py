"""Background tasks for pending pods."""

from __future__ import annotations

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions.pending import services
from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.web.errors import NotFound


@job_task(name="decisions.pending", restartable=True)
def pending(progress: Progress, *, snapshot: str) -> Json:
    """Work out what becomes of the pending pods of a snapshot under the default policy."""
    stored_snapshot = Snapshot.objects.select_related("cluster").defer("content").filter(pk=snapshot).first()
    revision = services.default_revision()
    if stored_snapshot is None or revision is None:
        raise NotFound("The snapshot or the policy was deleted in the meantime.")
    pod_count = services.work_out(snapshot=stored_snapshot, revision=revision, step=progress.step)
    return {"cluster": stored_snapshot.cluster.name, "snapshot": snapshot, "pods": pod_count}
