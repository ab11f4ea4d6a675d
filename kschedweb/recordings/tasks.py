"""Recording in the background."""

from __future__ import annotations

from typing import Any

from kschedweb.errors import NotFound
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.recordings.models import Recording
from kschedweb.recordings.recorder import Recorder

RESTARTS = 1000  # each loses no more than the time until it is begun again


@job_task(name="recordings.record", restartable=True, attempts=RESTARTS, apart=True)
def record(progress: Progress, *, recording: str) -> dict[str, Any]:
    """Watch the cluster of the recording with this id, or go on watching it."""
    found = Recording.objects.select_related("cluster").filter(pk=recording).first()
    if found is None:
        raise NotFound("The recording was deleted before it could begin.")
    return Recorder(found, progress.job).run()
