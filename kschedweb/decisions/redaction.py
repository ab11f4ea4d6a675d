"""Answers about pods, for whoever sees some namespaces of the cluster: without the names of pods of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404

from kschedweb.accounts.reach import can_see_namespace
from kschedweb.clusters.redaction import in_part, redact_keys
from kschedweb.decisions.models import QuestionKind

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.decisions.models import Question

AnswerJson = dict[str, Any]
# The kinds of questions whose answers are about a pod or a group: other answers name many.
ABOUT_ONE = (QuestionKind.DECISION, QuestionKind.GROUP)


def redact_decision(cluster: UUID, answer: AnswerJson) -> AnswerJson:
    """A decision as REST or the engine tells it: who would be evicted."""
    if not in_part(cluster) or not answer.get("preemption"):
        return answer
    room = answer["preemption"]
    candidates = {
        node: candidate | {"pods": redact_keys(cluster, candidate["pods"])}
        for node, candidate in room["candidates"].items()
    }
    return answer | {"preemption": room | {"candidates": candidates}}


def redact_group(cluster: UUID, answer: AnswerJson) -> AnswerJson:
    """An answer about a group as REST tells it: who would be evicted."""
    placed = answer.get("answer")
    if not in_part(cluster) or not placed or not placed.get("room"):
        return answer
    room = placed["room"] | {"victims": redact_keys(cluster, placed["room"]["victims"])}
    return answer | {"answer": placed | {"room": room}}


def question_seen(question: Question) -> None:
    """Raise ``Http404`` where who looks sees the cluster in part, and the answer names more."""
    snapshot = question.snapshot
    if snapshot is None or not in_part(snapshot.cluster_id):
        return
    if question.kind not in ABOUT_ONE or not can_see_namespace(snapshot.cluster_id, question.subject.partition("/")[0]):
        raise Http404("There is no such question.")


def redact_content(question: Question, content: AnswerJson) -> AnswerJson:
    """What a job kept as the answer to ``question``."""
    snapshot = question.snapshot
    if snapshot is None or not in_part(snapshot.cluster_id):
        return content
    hide = redact_group if question.kind == QuestionKind.GROUP else redact_decision
    visible = content | {"devices": None}
    return visible | {"answer": hide(snapshot.cluster_id, content["answer"])} if "answer" in content else visible
