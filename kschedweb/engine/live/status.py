"""What a pod's status says of its scheduling."""

from __future__ import annotations

from kschedweb.engine.objects.access import mapping, objects
from kschedweb.engine.objects.pod import Pod

SCHEDULED = "PodScheduled"


def says(pod: Pod, reason: str, message: str, nominated: str | None) -> bool:
    """Whether the pod's condition PodScheduled and nomination say this already; ``None``: any nomination will do."""
    if nominated is not None and pod.nominated_node != nominated:
        return False
    wanted = {"type": SCHEDULED, "status": "False", "reason": reason, "message": message}
    conditions = objects(mapping(pod.raw, "status"), "conditions", "status.")
    known = next((item for item in conditions if item.get("type") == SCHEDULED), {})
    return all(known.get(key) == value for key, value in wanted.items())
