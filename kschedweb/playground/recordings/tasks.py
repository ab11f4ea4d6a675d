"""Recording in the background."""

from __future__ import annotations

from typing import Any

from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.recordings.recorder import Recorder
from kschedweb.web.errors import NotFound

RESTARTS = 1000  # each loses no more than the time until it is begun again


@job_task(name="recordings.record", restartable=True, attempts=RESTARTS, apart=True)
def record(progress: Progress, *, recording: str) -> dict[str, Any]:
    """Watch the cluster of the recording with this id, or go on watching it."""
    found = Recording.objects.select_related("cluster").filter(pk=recording).first()
    if found is None:
        raise NotFound("The recording was deleted before it could begin.")
    return Recorder(found, progress.job).run()
