"""Answers about pods, for whoever sees some namespaces of the cluster: without the names of pods of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404

from kschedweb.accounts.reach import sees
from kschedweb.clusters.seen import in_part, named
from kschedweb.decisions.models import Kind

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.decisions.models import Question

Told = dict[str, Any]
# The kinds of questions whose answers are about a pod or a group: other answers name many.
ABOUT_ONE = (Kind.DECISION, Kind.GROUP)


def decision(cluster: UUID, told: Told) -> Told:
    """A decision as REST or the engine tells it: who would be evicted."""
    if not in_part(cluster) or not told.get("preemption"):
        return told
    room = told["preemption"]
    candidates = {node: one | {"pods": named(cluster, one["pods"])} for node, one in room["candidates"].items()}
    return told | {"preemption": room | {"candidates": candidates}}


def group(cluster: UUID, told: Told) -> Told:
    """An answer about a group as REST tells it: who would be evicted."""
    placed = told.get("answer")
    if not in_part(cluster) or not placed or not placed.get("room"):
        return told
    room = placed["room"] | {"victims": named(cluster, placed["room"]["victims"])}
    return told | {"answer": placed | {"room": room}}


def question_seen(question: Question) -> None:
    """Raise ``Http404`` where who looks sees the cluster in part, and the answer names more."""
    snapshot = question.snapshot
    if snapshot is None or not in_part(snapshot.cluster_id):
        return
    if question.kind not in ABOUT_ONE or not sees(snapshot.cluster_id, question.subject.partition("/")[0]):
        raise Http404("There is no such question.")


def kept(question: Question, content: Told) -> Told:
    """What a job kept as the answer to ``question``."""
    snapshot = question.snapshot
    if snapshot is None or not in_part(snapshot.cluster_id):
        return content
    hide = group if question.kind == Kind.GROUP else decision
    found = content | {"devices": None}
    return found | {"answer": hide(snapshot.cluster_id, content["answer"])} if "answer" in content else found
