"""Prepares pods of a recording or a dump for the beginning of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from kschedweb.engine.objects.json_access import Json, get_mapping, get_objects

FINISHED = frozenset({"Succeeded", "Failed"})
TIMES = ("creationTimestamp", "deletionTimestamp")


def is_stored(raw: Json) -> bool:
    """Whether the pod comes from an API server: admission always sets a priority."""
    return get_mapping(raw, "spec").get("priority") is not None


def unbind_pod(raw: Json) -> Json:
    """The pod as it was before it was scheduled."""
    spec = {key: value for key, value in get_mapping(raw, "spec").items() if key != "nodeName"}
    status = get_mapping(raw, "status")
    bare_status = {key: status[key] for key in ("resourceClaimStatuses",) if key in status}
    bare = {key: value for key, value in raw.items() if key != "status"}
    return {**bare, "spec": spec, **({"status": bare_status} if bare_status else {})}


def recreate_pod(raw: Json) -> Json:
    """The pod that comes anew in the place of ``raw``: another one, with claims of its own."""
    metadata = {key: value for key, value in get_mapping(raw, "metadata").items() if key != "uid"}
    return {**unbind_pod({**raw, "status": {}}), "metadata": metadata}


def shift_times(raw: Json, now: float) -> Json:
    """The pod with times relative to ``now``, the beginning of the scenario, instead of the epoch."""
    if not now:
        return raw
    metadata, status = _shift_timestamps(get_mapping(raw, "metadata"), TIMES, now), get_mapping(raw, "status")
    if status:
        conditions = [
            _shift_timestamps(condition, ("lastTransitionTime",), now)
            for condition in get_objects(status, "conditions", "status.")
        ]
        status = {
            **_shift_timestamps(status, ("startTime",), now),
            **({"conditions": conditions} if conditions else {}),
        }
    return {**raw, "metadata": metadata, **({"status": status} if status else {})}


def _shift_timestamps(raw: Json, keys: Iterable[str], now: float) -> Json:
    updated = dict(raw)
    for key in keys:
        value = raw.get(key)
        if isinstance(value, str):
            try:
                time = datetime.fromisoformat(value)
                seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() - now
                updated[key] = datetime.fromtimestamp(seconds, UTC).isoformat()
            except (ValueError, OverflowError, OSError):
                continue
    return updated
