"""Values that an API server would refuse, but that the scheduler runs with when it is given them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.objects.access import Json

# Where these stand, whatever the kind of object.
PLACES = ("spec", "allowedTopologies", "nodeTopology")
KNOWN: dict[str, tuple[str, ...]] = {
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", ""),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute", ""),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "preemptionPolicy": ("PreemptLowerPriority", "Never"),
    "protocol": ("TCP", "UDP", "SCTP", ""),
}
RANGES = {
    "maxSkew": (1, 2**31 - 1),
    "minDomains": (1, 2**31 - 1),
    "hostPort": (0, 65535),
    "containerPort": (1, 65535),
}


def oddities(raw: Json) -> Iterator[str]:
    """The fields of an object that is understood whose values mean nothing to Kubernetes, each with its path."""
    # However deep it goes: what is nested here may come from anybody.
    pending: list[tuple[str, Any]] = [(place, raw.get(place)) for place in reversed(PLACES)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            yield from (f"{path}.{key}: {said}" for key, item in value.items() if (said := _odd(key, item)))
            inside = [(f"{path}.{key}", item) for key, item in value.items() if isinstance(item, list | dict)]
            pending += reversed(inside)
        elif isinstance(value, list):
            inside = [(f"{path}[{number}]", item) for number, item in enumerate(value) if isinstance(item, list | dict)]
            pending += reversed(inside)


def _odd(key: str, value: Any) -> str:
    """What is odd about the field ``key``, "" where nothing is."""
    if isinstance(value, str) and key in KNOWN and value not in KNOWN[key]:
        return f"{value!r} is none of {', '.join(filter(None, KNOWN[key]))}"
    if isinstance(value, int) and key in RANGES and not RANGES[key][0] <= value <= RANGES[key][1]:
        return f"{value} is not from {RANGES[key][0]} to {RANGES[key][1]}"
    return ""
