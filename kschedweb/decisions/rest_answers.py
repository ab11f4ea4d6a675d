"""A decision as REST represents it: the output of ``python -m kschedweb.engine explain`` with REST's names of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions import figures_in_force, fixes, redaction, services
from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.doubts import list_doubts
from kschedweb.decisions.groups.words import by_itself
from kschedweb.decisions.responsibility import PodStatus, find_responsible_scheduler
from kschedweb.decisions.rest_requests import ApprovalWaitSerializer, ResponsibleSchedulerSerializer
from kschedweb.engine import Explanation
from kschedweb.engine.json_types import Json
from kschedweb.web.rest import snake_case

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.decisions.responsibility import ApprovalWait, ResponsibleScheduler
    from kschedweb.policies.models import Revision


def decision_to_json(snapshot: Snapshot, case: AnyCase, revision: Revision) -> Json:
    """Return the data of ``api.DecisionSerializer``."""
    decider = get_decider(revision)
    presentation = decider.present(case)
    with services.lock_snapshot(snapshot):
        placed = _placements_to_json(presentation)
    explanation = services.with_room(snapshot, case.pod.key, revision)
    answer = snake_case(Explanation.to_full_dict(explanation) | decider.rest_fields(case))
    if explanation.post_filter:
        answer["post_filter"] = explanation.post_filter
    answer |= fixes.find_pod_fixes(snapshot, revision, case)
    if not case.explanation.pre_enqueue.ok:
        answer["pre_enqueue"] = case.explanation.pre_enqueue.to_dict()
    if room := answer.get("preemption"):
        answer["preemption"] = room | {"candidates": _snake_cased(room["candidates"])}
    if classic := answer.get("classic"):
        answer["classic"] = snake_case(classic)
    answer = redaction.redact_decision(snapshot.cluster_id, answer)
    return {
        **services.answer_subject(snapshot, revision),
        "release": decider.release_version(case),
        "bound_to": case.bound_to,
        "warnings": list_warnings(presentation, snapshot, revision),
        "watermarks": figures_in_force.in_force_to_json(figures_in_force.in_force(case.snapshot, snapshot)),
        **answer,
        **placed,
    }


def status_to_json(scheduler: ResponsibleScheduler, wait: ApprovalWait | None) -> Json:
    """Return the present scheduler and wait of a pod, beside a decision that may have been stored."""
    handled = PodStatus.HANDLED if scheduler.revision is None else PodStatus.DECIDED
    return {
        "status": (handled if wait is None else PodStatus.WAITING).value,
        "scheduler": ResponsibleSchedulerSerializer(scheduler).data,
        "approval": None if wait is None else ApprovalWaitSerializer(wait).data,
    }


def pod_status_to_json(snapshot: Snapshot, revision: Revision, pod: str) -> Json:
    """Return ``status_to_json`` of the pod "namespace/name"."""
    return status_to_json(*find_responsible_scheduler(snapshot, revision, pod))


def handled_elsewhere(
    snapshot: Snapshot, revision: Revision, pod: str, scheduler: ResponsibleScheduler, bound_to: str
) -> Json:
    """Return the data of ``api.DecisionSerializer`` for a pod of an unknown scheduler: no node was judged."""
    return {
        **services.answer_subject(snapshot, revision),
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
        **fixes.NO_FIXES,
        "message": services.handled_elsewhere(scheduler).message,
    }


def _placements_to_json(presentation: Presentation) -> Json:
    """Return ranks and shares of the feasible nodes, which compare policies of any scale, and verdicts by group."""
    places = presentation.ranking.places_by_name()
    return {
        "maximum": presentation.ceiling,
        "ranks": {node: place.rank for node, place in places.items()},
        "shares": {node: round(place.share, 6) for node, place in places.items()},
        "verdicts": [
            {
                "plugin": group.plugin,
                "code": group.code,
                "reasons": list(group.reasons),
                "words": group.words,
                "count": group.count,
                "nodes": [presentation.explanation.nodes[node] for node in group.nodes],
            }
            for group in presentation.groups
        ],
    }


def _snake_cased(candidates: dict[str, Json]) -> dict[str, Json]:
    return {node: snake_case(candidate) for node, candidate in candidates.items()}


def list_warnings(decision: Presentation, snapshot: Snapshot, revision: Revision) -> list[str]:
    """Return warnings for readers of the decision."""
    case, texts = decision.case, []
    if case.bound_to:
        texts.append(f"The pod is bound to {case.bound_to}. It is explained as if it were not bound.")
    if not case.explanation.pre_enqueue.ok:
        texts.append(f"The pod is not in the scheduling queue: {case.explanation.pre_enqueue.message}")
    if missing := decision.missing():
        texts.append(f"Not evaluated here: {', '.join(missing)}.")
    texts += filter(None, [by_itself(case)])
    texts += decision.list_notes()
    texts += list_doubts(snapshot, revision, case.pod.namespace)
    return texts
