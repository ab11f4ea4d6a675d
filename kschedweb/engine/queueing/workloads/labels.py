"""The labels and annotations by which jobs and pods tell Kueue how they queue."""

from kschedweb.engine.json_types import Json

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
MIN_PARALLELISM_ANNOTATION = "kueue.x-k8s.io/job-min-parallelism"


def is_queued(raw: Json) -> bool:
    """Return whether an object names a LocalQueue."""
    return QUEUE_LABEL in (raw["metadata"].get("labels") or {})
