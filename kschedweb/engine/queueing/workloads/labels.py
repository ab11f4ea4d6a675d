"""The labels and annotations by which jobs and pods tell Kueue how they queue."""

from kschedweb.engine.json_types import Json

API_VERSION = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
MIN_PARALLELISM_ANNOTATION = "kueue.x-k8s.io/job-min-parallelism"
MAX_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
GROUP_COUNT_ANNOTATION = "kueue.x-k8s.io/pod-group-total-count"


def is_queued(raw: Json) -> bool:
    """Return whether an object names a LocalQueue."""
    return QUEUE_LABEL in (raw["metadata"].get("labels") or {})
