"""Patches of statuses as kube-scheduler makes them: strategic merge patches, which merge conditions by type."""

from __future__ import annotations

from kschedweb.clusters.following.facts import PodFacts
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import ReportGroup
from kschedweb.engine.objects.podgroup import CONDITIONS

POD_SCHEDULED, DISRUPTION_TARGET = "PodScheduled", "DisruptionTarget"
PREEMPTED_BY_SCHEDULER = "PreemptionByScheduler"


def status_patch(
    uid: str,
    facts: PodFacts,
    *,
    now: str,
    condition: tuple[str, str, str, str] | None = None,
    nominated: str | None = None,
) -> Json | None:
    """Return the patch for a ``condition`` (type, status, reason, message) and the nominated node, None for no change.

    ``nominated`` is "" to clear it and None to leave it. ``now`` becomes the condition's lastTransitionTime if its
    status is new. The uid makes the server refuse the patch for another pod of that name.
    """
    status: Json = {}
    if condition is not None and (merged := _merged_condition(facts, condition, now)):
        status["conditions"] = [merged]
    if nominated is not None and nominated != facts.nominated:
        status["nominatedNodeName"] = nominated or None
    return {"metadata": {"uid": uid}, "status": status} if status else None


def group_status_patch(intent: ReportGroup, *, now: str) -> Json:
    """Return the patch for a group's condition; ``now`` becomes its lastTransitionTime if the status is new."""
    fields = {
        "type": CONDITIONS[intent.group.object_kind],
        "status": intent.status,
        "reason": intent.reason,
        "message": intent.message,
    }
    observed = {"observedGeneration": intent.generation} if intent.generation else {}
    condition = {**fields, **observed, "lastTransitionTime": intent.since or now}
    return {"metadata": {"uid": intent.group.uid}, "status": {"conditions": [condition]}}


def _merged_condition(facts: PodFacts, condition: tuple[str, str, str, str], now: str) -> Json | None:
    kind, status, reason, message = condition
    old = next((existing for existing in facts.conditions if existing.get("type") == kind), None)
    since = now
    # As podutil's `UpdatePodCondition`: the time changes only with the status, not with the message.
    if old is not None and old.get("status") == status:
        since = old.get("lastTransitionTime") or now
        previous = (old.get("reason") or "", old.get("message") or "", old.get("lastProbeTime"))
        if previous == (reason, message, None):
            return None
    merged = {"type": kind, "status": status, "reason": reason, "message": message}
    return merged | {"lastProbeTime": None, "lastTransitionTime": since, "observedGeneration": facts.generation or None}
