"""Reading questions, their answers, and what can be asked about."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.engine.releases import load
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.playground.migration.models import Question
from kschedweb.policies.conversion.selectors import conversion
from kschedweb.policies.selectors import configuration
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision

MOST_CHOICES = 200


def question_list() -> QuerySet[Question]:
    """All questions, newest first, without what is large."""
    listed = Question.objects.select_related(
        "job", "created_by", "snapshot__cluster", "classic__policy", "profile__policy"
    )
    return listed.defer(
        "content", "snapshot__content", "snapshot__resource_versions", "classic__document", "profile__document"
    )


def question_get(question_id: UUID | str) -> Question:
    """One question; ``Http404`` where there is none."""
    found = question_list().filter(pk=question_id).first()
    if found is None:
        raise Http404("There is no such question.")
    return found


def differing(question: Question) -> list[dict[str, Any]]:
    """The pods that move or fit only under one, as ``engine.releases.classic.comparing.Move`` in plain data."""
    if question.content is None:
        return []
    found: list[dict[str, Any]] = json.loads(gzip.decompress(bytes(question.content)))
    return found


def target(classic: Revision, profile: Revision | None) -> tuple[Configuration, str]:
    """The configuration of ``profile``, or what the classic policy is converted to, with what is said of that."""
    if profile is not None:
        return configuration(profile), ""
    converted = conversion(classic)
    loaded = load(converted.document)
    if loaded.configuration is None:
        raise Unprocessable.at("profile", f"The conversion cannot run: {'; '.join(loaded.errors)}")
    return loaded.configuration, converted.summary


def namespaces(snapshot: Snapshot) -> list[str]:
    """The namespaces that hold pods."""
    pods = PodRow.objects.filter(snapshot=snapshot)
    return list(pods.order_by("namespace").values_list("namespace", flat=True).distinct())


def pod_count(snapshot: Snapshot, *, bound: bool, namespaces: Collection[str]) -> int:
    """About how many pods are asked about."""
    pods = PodRow.objects.filter(snapshot=snapshot)
    pods = pods if bound else pods.filter(pending=True)
    return (pods.filter(namespace__in=namespaces) if namespaces else pods).count()


def snapshot_choices() -> list[tuple[str, str]]:
    """Snapshots by cluster, the newest first, as their ids and in words."""
    listed = Snapshot.objects.filter(complete=True).select_related("cluster").defer("content", "resource_versions")
    return [(str(one.pk), about_snapshot(one)) for one in listed.order_by("cluster__name", "-taken_at")[:MOST_CHOICES]]
