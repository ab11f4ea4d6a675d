"""Hide the names of pods in namespaces that the user may not view, in answers about decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.accounts.reach import can_see_namespace
from kschedweb.clusters.redaction import in_part, redact_keys
from kschedweb.decisions.models import QuestionKind
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.decisions.models import Question

# The kinds of questions whose answers are about one pod or group; other answers name many, and only those about nodes
# are redacted.
ABOUT_ONE = (QuestionKind.DECISION, QuestionKind.GROUP)


def redact_decision(cluster: UUID, answer: Json) -> Json:
    """Return a decision of REST or the engine without the names of victims that the user may not view."""
    if not in_part(cluster):
        return answer
    if answer.get("fixes"):
        answer = answer | {"fixes": redact_fixes(cluster, answer["fixes"])}
    if not answer.get("preemption"):
        return answer
    room = answer["preemption"]
    candidates = {
        node: candidate | {"pods": redact_keys(cluster, candidate["pods"])}
        for node, candidate in room["candidates"].items()
    }
    return answer | {"preemption": room | {"candidates": candidates}}


def redact_fixes(cluster: UUID, fixes: list[Json]) -> list[Json]:
    """Return the fixes without those that change objects of namespaces that the user may not view."""
    return [
        fix
        for fix in fixes
        if all(
            not change["object"]["namespace"] or can_see_namespace(cluster, change["object"]["namespace"])
            for change in fix["changes"]
        )
    ]


def redact_group(cluster: UUID, answer: Json) -> Json:
    """Return REST's answer about a group without the names of victims that the user may not view."""
    placed = answer.get("answer")
    if not in_part(cluster) or not placed or not placed.get("room"):
        return answer
    room = placed["room"] | {"victims": redact_keys(cluster, placed["room"]["victims"])}
    return answer | {"answer": placed | {"room": room}}


def redact_node(cluster: UUID, report: Json) -> Json:
    """Return the report on a node as plain data, without the names of pods that the user may not view."""
    if not in_part(cluster):
        return report

    def hide(key: str) -> str:
        return (redact_keys(cluster, [key]) or [key])[0]

    def hide_pod(pod: Json) -> Json:
        name = hide(pod["pod"])
        place = pod["place"] and pod["place"] | {"pod": name}
        return pod | {"pod": name, "place": place, "controller": pod["controller"] if name == pod["pod"] else ""}

    levels = [
        level | {"pods": [share | {"pod": hide(share["pod"])} for share in level["pods"]]}
        for level in report["resources"]
    ]
    refused = [group | {"pods": redact_keys(cluster, group["pods"])} for group in report["refused"]]
    return report | {
        "resources": levels,
        "pods": [hide_pod(pod) for pod in report["pods"]],
        "refused": refused,
        "fitting": redact_keys(cluster, report["fitting"]),
    }


def question_seen(question: Question) -> None:
    """Raise ``Http404`` if the user may view only a part of the cluster and the answer names more."""
    snapshot = question.snapshot
    if snapshot is None or not in_part(snapshot.cluster_id) or question.kind == QuestionKind.NODE:
        return
    if question.kind not in ABOUT_ONE or not can_see_namespace(snapshot.cluster_id, question.subject.partition("/")[0]):
        raise Http404("There is no such question.")


def redact_content(question: Question, content: Json) -> Json:
    """Return the answer that a job stored for ``question``, redacted for the user."""
    snapshot = question.snapshot
    if snapshot is None or not in_part(snapshot.cluster_id):
        return content
    if question.kind == QuestionKind.NODE:
        return {name: redact_node(snapshot.cluster_id, content[name]) for name in ("report", "answer")}
    hide = redact_group if question.kind == QuestionKind.GROUP else redact_decision
    # Devices are shown with the claims that hold them, which may be in other namespaces.
    visible = content | {"devices": None}
    return visible | {"answer": hide(snapshot.cluster_id, content["answer"])} if "answer" in content else visible
