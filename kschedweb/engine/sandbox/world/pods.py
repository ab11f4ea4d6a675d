"""How pods stand, and pods made from a template, as controllers see and make them."""

from __future__ import annotations

import json
import re
from zlib import crc32

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.objects import SUFFIX
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.world.context import owner_reference

HEX = frozenset("0123456789abcdef")
LONGEST = 366 * 86_400.0  # seconds
ENDED = ("Succeeded", "Failed")
_FORM = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)
_BASIS, _PRIME, _BITS = 2166136261, 16777619, 0xFFFFFFFF  # FNV-1a of 32 bits


def phase(pod: Json) -> str:
    return str(pod.get("status", {}).get("phase") or "Pending")


def ended(pod: Json) -> bool:
    return phase(pod) in ENDED


def leaving(raw: Json) -> bool:
    return bool(raw["metadata"].get("deletionTimestamp"))


def active(pod: Json) -> bool:
    """Whether its controller counts it: it has not ended, and is not about to."""
    return not ended(pod) and not leaving(pod)


def condition(raw: Json, kind: str) -> Json | None:
    conditions = raw.get("status", {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == kind), None)


def ready(pod: Json) -> bool:
    found = condition(pod, "Ready")
    return found is not None and found.get("status") == "True"


def with_conditions(status: Json, now: str, *fresh: Json) -> Json:
    """``status`` with these conditions; the time of one is ``now`` where its status is a new one."""
    known = {one["type"]: one for one in status.get("conditions") or ()}
    for one in fresh:
        old = known.get(one["type"])
        since = old.get("lastTransitionTime") if old is not None and old.get("status") == one["status"] else None
        known[one["type"]] = {**one, "lastTransitionTime": since or now}
    return {**status, "conditions": list(known.values())}


def disrupted(status: Json, now: str, reason: str, message: str) -> Json:
    """``status`` with the condition that says why the pod is to be deleted."""
    said = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message, "lastProbeTime": None}
    return with_conditions(status, now, said)


def made_from(template: Json, resource: Resource, owner: Json, *, name: str = "", labels: Json | None = None) -> Json:
    """A pod of ``owner`` from its template: of a ``name``, or of one that the API server makes up."""
    metadata = template.get("metadata") or {}
    named = {"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}
    made: Json = {
        **named,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(metadata.get("labels") or {}), **(labels or {})},
        "ownerReferences": [owner_reference(resource, owner)],
    }
    if metadata.get("annotations"):
        made["annotations"] = dict(metadata["annotations"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template["spec"]}


def template_hash(template: Json) -> str:
    """A short name of a template's content, in the form of pod-template-hash; the original hashes Go's own print."""
    value = _BASIS
    for byte in json.dumps(template, sort_keys=True).encode():
        value = (value ^ byte) * _PRIME & _BITS
    return "".join(SUFFIX[ord(digit) % len(SUFFIX)] for digit in str(value))


def share(of_uid: str) -> float:
    """A number in [0, 1) that stays the same for an object: pods do not all take equally long."""
    digits = of_uid.replace("-", "")[:8] or "0"
    # People may name an owner by any uid.
    number = int(digits, 16) if set(digits) <= HEX else crc32(of_uid.encode())
    return number / 2**32


def duration(text: str) -> float | None:
    """Seconds of a duration such as 20m, 1h30m or 90s, of a year at most; ``None`` for anything else."""
    found = _FORM.fullmatch(text.strip()) if text.strip() else None
    if found is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + seconds
    return total if total <= LONGEST else None


def scaled(value: object, total: int, *, up: bool) -> int:
    """A count, or a percentage of ``total``, as a whole number. Raises ValueError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = whole_number(value[:-1]) if isinstance(value, str) and value.endswith("%") else None
    if percent is not None:
        parts = percent * total
        return -(-parts // 100) if up else parts // 100
    raise ValueError(f"{value!r} is neither a whole number nor a percentage")
