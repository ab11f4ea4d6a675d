"""Read choices for the capacity pages, and questions that jobs answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from django.db.models import Q
from django.http import Http404

from kschedweb.clusters.redaction import in_part
from kschedweb.clusters.selectors import node_rows, pod_rows, workload_named
from kschedweb.engine.studies.capacity.shapes import WORKLOADS
from kschedweb.jobs import inquiries
from kschedweb.playground.capacity import answers
from kschedweb.playground.capacity.models import CapacityKind, Question
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import CapacityAnswer
    from kschedweb.playground.capacity.queries import CapacityQuery
    from kschedweb.policies.models import Revision

# Choices of a field's datalist; any other name can be typed in.
OFFERED = 300
# Names that are suggested for what is typed.
SUGGESTED = 20


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


def find_workloads(snapshot: Snapshot, typed: str) -> list[str]:
    """Return workloads and pods with each word of ``typed`` in their names: workloads as namespace/Kind/name first."""
    words = typed.replace("/", " ").split()[:6]
    rows = pod_rows(snapshot).exclude(owner__startswith="DaemonSet/")
    for word in words:
        if word not in WORKLOADS:
            rows = rows.filter(Q(namespace__icontains=word) | Q(owner__icontains=word) | Q(name__icontains=word))
    found: dict[str, None] = {}
    owners = rows.exclude(owner="").order_by("namespace", "owner").values_list("namespace", "owner").distinct()
    for namespace, owner in owners[:OFFERED]:
        workload = workload_named(owner)
        if workload.partition("/")[0] in WORKLOADS:
            found[f"{namespace}/{workload}"] = None
    if words:
        named = rows.order_by("namespace", "name").values_list("namespace", "name")
        found |= dict.fromkeys(f"{namespace}/{name}" for namespace, name in named[:SUGGESTED])
    return list(found)[:SUGGESTED]


def workload_meant(snapshot: Snapshot, typed: str) -> str:
    """Return the only workload or pod that is meant by ``typed``. Raise ApplicationError if none or several are."""
    if not typed or "/" in typed:
        return typed
    found = find_workloads(snapshot, typed)
    if not found:
        raise ApplicationError.at("workload", f"No workload or pod has {typed} in its name.")
    exact = [name for name in found if name.rpartition("/")[2] == typed]
    meant = exact or [name for name in found if name.count("/") == 2] or found
    if len(meant) > 1:
        raise ApplicationError.at("workload", f"{typed} may be {' or '.join(meant[:3])}. Choose one of them.")
    return meant[0]


def find_nodes(snapshot: Snapshot, typed: str) -> list[str]:
    """Return the first nodes with ``typed`` in their names."""
    rows = node_rows(snapshot).filter(name__icontains=typed.strip())
    return list(rows.order_by("name").values_list("name", flat=True)[:SUGGESTED])


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


def stored_answer(
    snapshot: Snapshot, revision: Revision, kind: CapacityKind, query: CapacityQuery
) -> CapacityAnswer | None:
    """Return the stored answer to this question, if a job has given it; else None."""
    rows = Question.objects.filter(snapshot=snapshot, revision=revision, kind=kind)
    question = inquiries.find_answered(rows, asdict(query))
    return None if question is None else answer_of(question)
