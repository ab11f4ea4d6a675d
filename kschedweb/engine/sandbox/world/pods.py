"""The state of pods, and pods made from a template, as controllers see and create them."""

from __future__ import annotations

import json
import re
from zlib import crc32

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import SUFFIX
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.world.context import owner_reference

HEX = frozenset("0123456789abcdef")
# Seconds, the longest duration that is accepted.
LONGEST = 366 * 86_400.0
ENDED = ("Succeeded", "Failed")
_FORM = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)
# FNV-1a of 32 bits.
_BASIS, _PRIME, _BITS = 2166136261, 16777619, 0xFFFFFFFF


def get_phase(pod: Json) -> str:
    return str(pod.get("status", {}).get("phase") or "Pending")


def is_pod_terminal(pod: Json) -> bool:
    return get_phase(pod) in ENDED


def is_deleting(raw: Json) -> bool:
    return bool(raw["metadata"].get("deletionTimestamp"))


def is_pod_active(pod: Json) -> bool:
    """Return true if its controller counts the pod: it has not ended, and is not being deleted."""
    return not is_pod_terminal(pod) and not is_deleting(pod)


def get_condition(raw: Json, kind: str) -> Json | None:
    conditions = raw.get("status", {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def is_pod_ready(pod: Json) -> bool:
    ready_condition = get_condition(pod, "Ready")
    return ready_condition is not None and ready_condition.get("status") == "True"


def with_conditions(status: Json, now: str, *fresh: Json) -> Json:
    """Return ``status`` with these conditions; the time of one is ``now`` if its status has changed."""
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    for condition in fresh:
        old = conditions.get(condition["type"])
        since = old.get("lastTransitionTime") if old is not None and old.get("status") == condition["status"] else None
        conditions[condition["type"]] = {**condition, "lastTransitionTime": since or now}
    return {**status, "conditions": list(conditions.values())}


def with_disruption_target(status: Json, now: str, reason: str, message: str) -> Json:
    """Return ``status`` with the condition that says why the pod will be deleted."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
    }
    return with_conditions(status, now, condition)


def pod_from_template(
    template: Json, resource: Resource, owner: Json, *, name: str = "", labels: Json | None = None
) -> Json:
    """Return a pod of ``owner`` from its template, with ``name`` or one that the API server draws."""
    metadata = template.get("metadata") or {}
    naming = {"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}
    pod_metadata: Json = {
        **naming,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(metadata.get("labels") or {}), **(labels or {})},
        "ownerReferences": [owner_reference(resource, owner)],
    }
    if metadata.get("annotations"):
        pod_metadata["annotations"] = dict(metadata["annotations"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": template["spec"]}


def template_hash(template: Json) -> str:
    """Return a short hash of a template, in the form of pod-template-hash; the original hashes Go's own print."""
    value = _BASIS
    for byte in json.dumps(template, sort_keys=True).encode():
        value = (value ^ byte) * _PRIME & _BITS
    return "".join(SUFFIX[ord(digit) % len(SUFFIX)] for digit in str(value))


def uid_fraction(of_uid: str) -> float:
    """Return a number in [0, 1) that stays the same for an object, so that pods do not all take equally long."""
    digits = of_uid.replace("-", "")[:8] or "0"
    # People may name an owner by any uid.
    number = int(digits, 16) if set(digits) <= HEX else crc32(of_uid.encode())
    return number / 2**32


def parse_duration(text: str) -> float | None:
    """Read a duration such as 20m, 1h30m or 90s as seconds; returns ``None`` for others, and beyond a year."""
    match = _FORM.fullmatch(text.strip()) if text.strip() else None
    if match is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + seconds
    return total if total <= LONGEST else None


def get_scaled_value(value: object, total: int, *, up: bool) -> int:
    """Resolve a count, or a percentage of ``total``, to a whole number. Raises ValueError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = whole_number(value[:-1]) if isinstance(value, str) and value.endswith("%") else None
    if percent is not None:
        parts = percent * total
        return -(-parts // 100) if up else parts // 100
    raise ValueError(f"{value!r} is neither a whole number nor a percentage")
