"""Conditions of a Workload, as apimachinery's `meta.SetStatusCondition` keeps them."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_objects_and_paths, get_string, get_time
from kschedweb.engine.values import dataclass

QUOTA_RESERVED = "QuotaReserved"
ADMITTED = "Admitted"
EVICTED = "Evicted"
PREEMPTED = "Preempted"
REQUEUED = "Requeued"
FINISHED = "Finished"
PODS_READY = "PodsReady"
DEACTIVATION_TARGET = "DeactivationTarget"
WAITING_FOR_REPLACEMENT_PODS = "WaitingForReplacementPods"
# The types that Kueue's admission manager owns (`admissionManagedConditions`); others go when it writes.
MANAGED_TYPES = frozenset({
    QUOTA_RESERVED, ADMITTED, EVICTED, PREEMPTED, REQUEUED, FINISHED, PODS_READY, DEACTIVATION_TARGET,
    WAITING_FOR_REPLACEMENT_PODS,
})  # fmt: skip
_MAX_CONDITION_MESSAGE, _MAX_EVENT_MESSAGE = 32768, 1024
_SUFFIX = " ..."


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a Workload."""

    type: str
    # Whether its status is True; "Unknown" counts as False.
    is_true: bool
    reason: str
    message: str = ""
    # When the status changed, in seconds since 1970.
    since: float = 0.0
    observed_generation: int = 0
    # The status as text, for the statuses that are neither True nor False.
    status: str = ""

    def to_json(self) -> Json:
        described = {"type": self.type, "status": self.status or str(self.is_true), "reason": self.reason}
        return {**described, "message": self.message} if self.message else described

    @property
    def content(self) -> tuple[str, bool, str, str]:
        """The part that a reader sees."""
        return self.type, self.is_true, self.reason, self.message


Conditions = tuple[Condition, ...]


def find_condition(conditions: Conditions, kind: str) -> Condition | None:
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def is_condition_true(conditions: Conditions, kind: str) -> bool:
    condition = find_condition(conditions, kind)
    return condition is not None and condition.is_true


def is_condition_false(conditions: Conditions, kind: str) -> bool:
    condition = find_condition(conditions, kind)
    return condition is not None and not condition.is_true and condition.status in ("", "False")


def set_condition(conditions: Conditions, new: Condition) -> Conditions:
    """Return ``conditions`` with ``new`` in its place; the same tuple if nothing changes.

    Its time counts only if the status changes.
    """
    for position, old in enumerate(conditions):
        if old.type != new.type:
            continue
        since = old.since if old.is_true == new.is_true else new.since
        merged = Condition(new.type, new.is_true, new.reason, new.message, since, new.observed_generation)
        if merged.content == old.content and merged.observed_generation == old.observed_generation:
            return conditions
        return (*conditions[:position], merged, *conditions[position + 1 :])
    return (*conditions, new)


def remove_condition(conditions: Conditions, kind: str) -> Conditions:
    return tuple(condition for condition in conditions if condition.type != kind)


def read_conditions(status: Json, path: str) -> Conditions:
    return tuple(
        Condition(
            get_string(raw, "type", at),
            raw.get("status") == "True",
            get_string(raw, "reason", at),
            get_string(raw, "message", at),
            get_time(raw, "lastTransitionTime", at) or 0.0,
            get_integer(raw, "observedGeneration", path=at, bits=64) if raw.get("observedGeneration") else 0,
            "" if raw.get("status") in ("True", "False") else get_string(raw, "status", at),
        )
        for raw, at in get_objects_and_paths(status, "conditions", path)
    )


def truncate_condition(message: str) -> str:
    return _truncate_message(message, _MAX_CONDITION_MESSAGE)


def truncate_event(message: str) -> str:
    return _truncate_message(message, _MAX_EVENT_MESSAGE)


def _truncate_message(message: str, limit: int) -> str:
    """Cut ``message`` to ``limit`` bytes, as Kueue's `truncateMessage`."""
    encoded = message.encode()
    if len(encoded) <= limit:
        return message
    return encoded[: limit - len(_SUFFIX)].decode(errors="ignore") + _SUFFIX
