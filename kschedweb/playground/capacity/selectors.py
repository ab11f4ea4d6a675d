"""Read choices for the capacity pages, and questions that jobs answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.clusters.redaction import in_part
from kschedweb.clusters.selectors import node_rows, pod_rows, workload_named
from kschedweb.engine.studies.capacity.shapes import WORKLOADS
from kschedweb.jobs import inquiries
from kschedweb.playground.capacity import answers
from kschedweb.playground.capacity.models import CapacityKind, Question

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import CapacityAnswer

# Choices of a field's datalist; any other name can be typed in.
OFFERED = 300


def list_workloads(snapshot: Snapshot) -> list[str]:
    """Return workloads with pods in the snapshot as namespace/Kind/name; a ReplicaSet is listed as its Deployment."""
    # A DaemonSet has a pod on every node that it can run on, so asking for more makes no sense.
    rows = pod_rows(snapshot).exclude(owner="").exclude(owner__startswith="DaemonSet/")
    names = set()
    for namespace, owner in rows.order_by("namespace", "owner").values_list("namespace", "owner").distinct():
        workload = workload_named(owner)
        if workload.partition("/")[0] in WORKLOADS:
            names.add(f"{namespace}/{workload}")
    return sorted(names)[:OFFERED]


def node_names(snapshot: Snapshot) -> list[str]:
    """Return the first nodes by name."""
    return list(node_rows(snapshot).values_list("name", flat=True)[:OFFERED])


def list_zones(snapshot: Snapshot) -> list[str]:
    """Return the zones that have nodes."""
    return list(node_rows(snapshot).exclude(zone="").order_by("zone").values_list("zone", flat=True).distinct())


def nodes_in(snapshot: Snapshot, zone: str) -> list[str]:
    """Return the nodes of ``zone`` by name; none for ""."""
    return list(node_rows(snapshot).filter(zone=zone).values_list("name", flat=True)) if zone else []


def question_get(question_id: UUID | str) -> Question:
    """Return the question of this id; raise ``Http404`` if there is none, or if its answer must not be seen."""
    question = inquiries.question_seen(Question, question_id)
    # Answers of other kinds name pods of all namespaces.
    if (
        question.snapshot
        and in_part(question.snapshot.cluster_id)
        and question.kind not in (CapacityKind.FIT, CapacityKind.GANGS)
    ):
        raise Http404("There is no such question.")
    return question


def answer_of(question: Question) -> CapacityAnswer | None:
    """Return the answer; ``None`` if there is none yet."""
    return None if question.content is None else answers.unpack_answer(question.kind, bytes(question.content))
