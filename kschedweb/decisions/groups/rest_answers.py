"""Groups of pods as REST represents them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.groups.words import build_headline
from kschedweb.decisions.rest_requests import ApprovalWaitSerializer, ResponsibleSchedulerSerializer
from kschedweb.engine.json_types import Json
from kschedweb.web.rest import snake_case

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.groups.group_status import GroupStatus
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.engine.cycle.group_placement import GroupPlacement


def status_to_json(group_status: GroupStatus) -> Json:
    """Return the state of a group."""
    group = group_status.group
    return {
        "namespace": group_status.namespace,
        "name": group_status.name,
        "state": group_status.state.value,
        "sentence": group_status.sentence,
        "min_count": None if group is None else group.min_count,
        "topology_key": "" if group is None else group.topology_key,
        "priority": None if group is None else group.priority,
        "bound": len(group_status.bound),
        "pending": len(group_status.pending),
        "gated": group_status.gated,
        "missing": group_status.missing,
    }


def responsible_to_json(scheduler: ResponsibleScheduler | None, waits: list[ApprovalWait]) -> Json:
    """Return the current scheduler and waits of a group's pods, beside an answer that may have been stored."""
    return {
        "scheduler": None if scheduler is None else ResponsibleSchedulerSerializer(scheduler).data,
        "approvals": ApprovalWaitSerializer(waits, many=True).data,
    }


def case_to_json(case: GroupCase) -> Json:
    """Return the decision about a group."""
    answer_headline = build_headline(case)
    return {
        **status_to_json(case.group_status),
        "title": answer_headline.title,
        "details": answer_headline.details,
        "gates_off": [] if case.rules.switched else list(case.rules.off),
        "gates_switched": list(case.rules.off) if case.rules.switched else [],
        "bound_pods": [{"pod": pod.key, "node": pod.node_name} for pod in case.group_status.bound],
        "blocked": case.blocked,
        "freed_claims": case.freed,
        "answer": None if case.placement is None else _placement_to_json(case.placement.to_dict()),
        "tree": [_tree_group_to_json(placement) for placement in case.tree],
    }


def _tree_group_to_json(placement: GroupPlacement) -> Json:
    group = placement.group
    return {
        "kind": group.kind,
        "namespace": group.namespace,
        "name": group.name,
        "parent": group.parent.partition("/")[2],
        "min_count": group.min_count,
        "topology_key": group.topology_key,
        "placed": placement.placed,
        "condition": placement.condition,
        "domain": placement.domain,
        "domains": [domain_try.to_dict() for domain_try in placement.tries],
    }


def _placement_to_json(placement: Json) -> Json:
    return placement | ({"room": snake_case(placement["room"])} if "room" in placement else {})
