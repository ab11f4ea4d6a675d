"""A decision as REST tells it: what ``python -m kschedweb.engine explain`` tells, with REST's names of its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions import services, utilisation, veil
from kschedweb.decisions.asked import ApprovalWaitSerializer, ResponsibleSchedulerSerializer
from kschedweb.decisions.doubts import list_doubts
from kschedweb.decisions.groups.words import by_itself
from kschedweb.decisions.kinds import decider
from kschedweb.decisions.responsibility import PodStatus, find_responsible_scheduler
from kschedweb.engine import Explanation
from kschedweb.web.rest import snake_case

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.policies.models import Revision


def decision(snapshot: Snapshot, case: AnyCase, revision: Revision) -> dict[str, Any]:
    """As ``api.DecisionSerializer``."""
    decides = decider(revision)
    shown = decides.present(case)
    with services.alone(snapshot):
        placed = _placed(shown)
    explanation = services.with_room(snapshot, case.pod.key, revision)
    answer = snake_case(Explanation.told(explanation) | decides.told(case))
    if explanation.post_filter:
        answer["post_filter"] = explanation.post_filter
    if not case.explanation.pre_enqueue.ok:
        answer["pre_enqueue"] = case.explanation.pre_enqueue.to_dict()
    if room := answer.get("preemption"):
        answer["preemption"] = room | {"candidates": _snake_cased(room["candidates"])}
    if classic := answer.get("classic"):
        answer["classic"] = snake_case(classic)
    answer = veil.decision(snapshot.cluster_id, answer)
    return {
        **services.about(snapshot, revision),
        "release": decides.release(case),
        "bound_to": case.bound_to,
        "warnings": warnings(shown, snapshot, revision),
        "watermarks": utilisation.told(utilisation.in_force(case.snapshot, snapshot)),
        **answer,
        **placed,
    }


def standing(scheduler: ResponsibleScheduler, wait: ApprovalWait | None) -> dict[str, Any]:
    """Who answers for a pod, and whether it waits: what is true now, beside a decision that may have been kept."""
    handled = PodStatus.HANDLED if scheduler.revision is None else PodStatus.DECIDED
    return {
        "status": (handled if wait is None else PodStatus.WAITING).value,
        "scheduler": ResponsibleSchedulerSerializer(scheduler).data,
        "approval": None if wait is None else ApprovalWaitSerializer(wait).data,
    }


def pod_standing(snapshot: Snapshot, revision: Revision, pod: str) -> dict[str, Any]:
    """``standing`` of the pod "namespace/name"."""
    return standing(*find_responsible_scheduler(snapshot, revision, pod))


def handled_elsewhere(
    snapshot: Snapshot, revision: Revision, pod: str, scheduler: ResponsibleScheduler, bound_to: str
) -> dict[str, Any]:
    """As ``api.DecisionSerializer`` of a pod whose scheduler nobody here knows: no node was asked about."""
    return {
        **services.about(snapshot, revision),
        "release": "",
        "bound_to": bound_to,
        "warnings": [],
        "watermarks": None,
        "pod": pod,
        "rejected": {},
        "filters": {},
        "feasible": None,
        "maximum": 0,
        "ranks": {},
        "shares": {},
        "verdicts": [],
        "message": services.handled_elsewhere(scheduler).message,
    }


def _placed(shown: Presentation) -> dict[str, Any]:
    """Ranks and shares of the feasible nodes, by which policies of any scale are compared, and verdicts by group."""
    places = shown.ranking.places()
    return {
        "maximum": shown.ceiling,
        "ranks": {node: place.rank for node, place in places.items()},
        "shares": {node: round(place.share, 6) for node, place in places.items()},
        "verdicts": [
            {
                "plugin": group.plugin,
                "code": group.code,
                "reasons": list(group.reasons),
                "words": group.words,
                "count": group.count,
                "nodes": [shown.explanation.nodes[node] for node in group.nodes],
            }
            for group in shown.groups
        ],
    }


def _snake_cased(candidates: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {node: snake_case(one) for node, one in candidates.items()}


def warnings(decision: Presentation, snapshot: Snapshot, revision: Revision) -> list[str]:
    """Warnings for readers of the decision."""
    case, found = decision.case, []
    if case.bound_to:
        found.append(f"The pod is bound to {case.bound_to}. It is explained as if it were not bound.")
    if not case.explanation.pre_enqueue.ok:
        found.append(f"The pod is not in the scheduling queue: {case.explanation.pre_enqueue.message}")
    if missing := decision.missing():
        found.append(f"Not evaluated here: {', '.join(missing)}.")
    found += filter(None, [by_itself(case)])
    found += decision.notes()
    found += list_doubts(snapshot, revision, case.pod.namespace)
    return found
