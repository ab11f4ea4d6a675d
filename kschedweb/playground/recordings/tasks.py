"""The background task of recordings."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.recordings.recorder import ClusterRecorder
from kschedweb.web.errors import NotFound

# A restart loses only the time in between, so the job may restart often.
RESTARTS = 1000


@job_task(name="recordings.record", restartable=True, attempts=RESTARTS, in_thread=True)
def record(progress: Progress, *, recording: str) -> Json:
    """Start or continue the recording with this id."""
    row = Recording.objects.select_related("cluster").filter(pk=recording).first()
    if row is None:
        raise NotFound("The recording was deleted before it could begin.")
    return ClusterRecorder(row, progress.job).run()
