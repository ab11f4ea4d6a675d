"""Prepare pods of a recording or a dump for the beginning of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects

# Phases of pods that run no more.
FINISHED = frozenset({"Succeeded", "Failed"})
# Metadata with times.
TIMES = ("creationTimestamp", "deletionTimestamp")


def is_stored(raw: Json) -> bool:
    """Return whether the pod comes from an API server, where admission always sets a priority."""
    return get_mapping(raw, "spec").get("priority") is not None


def unbind_pod(raw: Json) -> Json:
    """Return the pod as it was before it was scheduled."""
    spec = {key: value for key, value in get_mapping(raw, "spec").items() if key != "nodeName"}
    status = get_mapping(raw, "status")
    # Its claims exist before it is scheduled.
    bare_status = {key: status[key] for key in ("resourceClaimStatuses",) if key in status}
    bare = {key: value for key, value in raw.items() if key != "status"}
    return {**bare, "spec": spec, **({"status": bare_status} if bare_status else {})}


def recreate_pod(raw: Json) -> Json:
    """Return the pod that a controller creates in place of ``raw``: another one, with claims of its own."""
    metadata = {key: value for key, value in get_mapping(raw, "metadata").items() if key != "uid"}
    return {**unbind_pod({**raw, "status": {}}), "metadata": metadata}


def shift_times(raw: Json, now: float) -> Json:
    """Return the pod with times relative to ``now``, the beginning of the scenario, instead of the epoch."""
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
                # The virtual clock begins with the epoch, so second 0 of a run is 1970-01-01T00:00:00Z.
                updated[key] = datetime.fromtimestamp(seconds, UTC).isoformat()
            except (ValueError, OverflowError, OSError):
                continue  # Unreadable times stay; whoever parses the pod reports them.
    return updated
