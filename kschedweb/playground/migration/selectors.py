"""Read questions, their answers, and the choices for new ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import Http404

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.jobs.inquiries import unpack_answer
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.playground.migration.models import Question
from kschedweb.policies.conversion.selectors import convert_revision
from kschedweb.policies.selectors import load_configuration
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision

# Snapshots in a select.
MOST_CHOICES = 200


def question_list() -> QuerySet[Question]:
    """Return all questions, newest first, without large fields."""
    listed = Question.objects.select_related(
        "job", "created_by", "snapshot__cluster", "classic__policy", "profile__policy"
    )
    return listed.defer(
        "content", "snapshot__content", "snapshot__resource_versions", "classic__document", "profile__document"
    )


def question_get(question_id: UUID | str) -> Question:
    """Return the question of this id; raise ``Http404`` if there is none."""
    question = question_list().filter(pk=question_id).first()
    if question is None:
        raise Http404("There is no such question.")
    return question


def differing_pods(question: Question) -> list[Json]:
    """Return the pods that move or fit on one side only, as plain data of
    ``engine.releases.classic.comparing.PodMove``."""
    if question.content is None:
        return []
    moves: list[Json] = unpack_answer(question.content)
    return moves


def target_configuration(classic: Revision, profile: Revision | None) -> tuple[Configuration, str]:
    """Return the configuration of ``profile``, or of the converted classic policy with a summary of the conversion."""
    if profile is not None:
        return load_configuration(profile), ""
    converted = convert_revision(classic)
    loaded = load(converted.document)
    if loaded.configuration is None:
        raise Unprocessable.at("profile", f"The conversion cannot run: {'; '.join(loaded.errors)}")
    return loaded.configuration, converted.summary


def list_namespaces(snapshot: Snapshot) -> list[str]:
    """Return the namespaces with pods."""
    pods = PodRow.objects.filter(snapshot=snapshot)
    return list(pods.order_by("namespace").values_list("namespace", flat=True).distinct())


def pod_count(snapshot: Snapshot, *, bound: bool, namespaces: Collection[str]) -> int:
    """Return the approximate number of pods in a question."""
    pods = PodRow.objects.filter(snapshot=snapshot)
    pods = pods if bound else pods.filter(pending=True)
    return (pods.filter(namespace__in=namespaces) if namespaces else pods).count()


def snapshot_choices() -> list[tuple[str, str]]:
    """Return snapshots as id and label by cluster, newest first."""
    listed = (
        # Snapshots with a moment were rebuilt from a flight recorder, and are not offered here.
        Snapshot.objects.filter(complete=True, moment=None)
        .select_related("cluster")
        .defer("content", "resource_versions")
    )
    return [
        (str(snapshot.pk), about_snapshot(snapshot))
        for snapshot in listed.order_by("cluster__name", "-taken_at")[:MOST_CHOICES]
    ]
