"""What REST tells of groups of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.asked import ApprovalWaitSerializer, ResponsibleSchedulerSerializer
from kschedweb.decisions.groups.words import headline
from kschedweb.web.rest import snake_case

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.groups.standing import Standing
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler

Told = dict[str, Any]


def standing(found: Standing) -> Told:
    """How a group stands."""
    group = found.group
    return {
        "namespace": found.namespace,
        "name": found.name,
        "state": found.state.value,
        "sentence": found.sentence,
        "min_count": None if group is None else group.min_count,
        "topology_key": "" if group is None else group.topology_key,
        "priority": None if group is None else group.priority,
        "bound": len(found.bound),
        "pending": len(found.pending),
        "gated": found.gated,
        "missing": found.missing,
    }


def responsible(scheduler: ResponsibleScheduler | None, waits: list[ApprovalWait]) -> Told:
    """Who answers for the pods of a group, and which of them wait: beside an answer that may have been kept."""
    return {
        "scheduler": None if scheduler is None else ResponsibleSchedulerSerializer(scheduler).data,
        "approvals": ApprovalWaitSerializer(waits, many=True).data,
    }


def answer(case: GroupCase) -> Told:
    """What would become of a group."""
    said = headline(case)
    return {
        **standing(case.standing),
        "title": said.title,
        "details": said.details,
        "gates_off": [] if case.rules.switched else list(case.rules.off),
        "gates_switched": list(case.rules.off) if case.rules.switched else [],
        "bound_pods": [{"pod": pod.key, "node": pod.node_name} for pod in case.standing.bound],
        "blocked": case.blocked,
        "freed_claims": case.freed,
        "answer": None if case.found is None else _placement(case.found.to_dict()),
    }


def _placement(found: Told) -> Told:
    return found | ({"room": snake_case(found["room"])} if "room" in found else {})
