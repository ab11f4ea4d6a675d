"""Read a pod's scheduling status."""

from __future__ import annotations

from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod

SCHEDULED = "PodScheduled"


def is_reported_already(pod: Pod, reason: str, message: str, nominated: str | None) -> bool:
    """Return true if the pod's condition PodScheduled and its nomination say this already.

    ``nominated`` of ``None`` accepts any nomination.
    """
    if nominated is not None and pod.nominated_node != nominated:
        return False
    expected = {"type": SCHEDULED, "status": "False", "reason": reason, "message": message}
    conditions = get_objects(get_mapping(pod.raw, "status"), "conditions", "status.")
    current = next((item for item in conditions if item.get("type") == SCHEDULED), {})
    return all(current.get(key) == value for key, value in expected.items())
