"""Prepares pods of a recording or a dump for the beginning of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from kschedweb.engine.objects.access import Json, mapping, objects

FINISHED = frozenset({"Succeeded", "Failed"})
TIMES = ("creationTimestamp", "deletionTimestamp")


def stored(raw: Json) -> bool:
    """Whether the pod comes from an API server: admission always sets a priority."""
    return mapping(raw, "spec").get("priority") is not None


def unbound(raw: Json) -> Json:
    """The pod as it was before it was scheduled."""
    spec = {key: value for key, value in mapping(raw, "spec").items() if key != "nodeName"}
    status = mapping(raw, "status")
    kept = {key: status[key] for key in ("resourceClaimStatuses",) if key in status}
    bare = {key: value for key, value in raw.items() if key != "status"}
    return {**bare, "spec": spec, **({"status": kept} if kept else {})}


def recreated(raw: Json) -> Json:
    """The pod that comes anew in the place of ``raw``: another one, with claims of its own."""
    metadata = {key: value for key, value in mapping(raw, "metadata").items() if key != "uid"}
    return {**unbound({**raw, "status": {}}), "metadata": metadata}


def shifted(raw: Json, now: float) -> Json:
    """The pod with times relative to ``now``, the beginning of the scenario, instead of the epoch."""
    if not now:
        return raw
    metadata, status = _earlier(mapping(raw, "metadata"), TIMES, now), mapping(raw, "status")
    if status:
        conditions = [_earlier(one, ("lastTransitionTime",), now) for one in objects(status, "conditions", "status.")]
        status = {**_earlier(status, ("startTime",), now), **({"conditions": conditions} if conditions else {})}
    return {**raw, "metadata": metadata, **({"status": status} if status else {})}


def _earlier(raw: Json, keys: Iterable[str], now: float) -> Json:
    found = dict(raw)
    for key in keys:
        value = raw.get(key)
        if isinstance(value, str):
            try:
                time = datetime.fromisoformat(value)
                seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() - now
                found[key] = datetime.fromtimestamp(seconds, UTC).isoformat()
            except (ValueError, OverflowError, OSError):
                continue
    return found
