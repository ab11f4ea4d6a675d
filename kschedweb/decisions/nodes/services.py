"""Report on nodes of stored snapshots. Answers are cached, since snapshots and revisions never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.urls import reverse

from kschedweb.clusters.redaction import in_part, pod_seen
from kschedweb.clusters.selectors import node_rows
from kschedweb.decisions import services
from kschedweb.decisions.inquiring.handlers import snapshot_and_revision
from kschedweb.decisions.inquiring.services import find_answer, of_cluster
from kschedweb.decisions.models import QuestionKind
from kschedweb.decisions.nodes.titles import report_title
from kschedweb.decisions.redaction import redact_node
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.studies.capacity.node_report import NodeReport, PodPlace, explain_place, report_node
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import NodeRow, Snapshot
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.engine.json_types import Json
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

# Verdicts, pods times nodes, that a page waits for: about a second. With more, each pod is explained when it is opened.
VERDICTS_AT_ONCE = 150_000


def get_node(snapshot: Snapshot, name: str) -> NodeRow:
    """Return the row of the node ``name``. Raise NotFound."""
    row = node_rows(snapshot).filter(name=name.replace("\0", "")).first()
    if row is None:
        raise NotFound(f"Cluster {snapshot.cluster.name} has no node {name[:253]}.")
    return row


def explains_at_once(snapshot: Snapshot, row: NodeRow) -> bool:
    """Return whether a page explains all pods of the node, not each when it is opened."""
    return row.pods_bound * snapshot.counts.get("Node", 0) <= VERDICTS_AT_ONCE


def find_report(
    user: User, snapshot: Snapshot, revision: Revision, name: str, *, places: bool
) -> NodeReport | Question:
    """Return the report on the existing node ``name``, or the question that a job answers.

    With ``places`` each of its pods is explained.
    """
    cluster = snapshot.cluster.name
    address = services.page_address(reverse("node", args=[name]), snapshot, revision, cluster=cluster)
    at_hand = services.at_hand(snapshot, revision)
    # A job has time for all pods.
    places = places or not at_hand
    report = find_answer(
        user,
        of_cluster(QuestionKind.NODE, snapshot, revision, address, node=name, places=places),
        lambda: _compute_report(snapshot, revision, name, places=places),
        lambda _, content: NodeReport.from_dict(content["report"]),
        at_hand=at_hand,
    )
    if isinstance(report, NodeReport) and in_part(snapshot.cluster_id):
        return NodeReport.from_dict(redact_node(snapshot.cluster_id, report.to_dict()))
    return report


def find_place(snapshot: Snapshot, revision: Revision, pod: str) -> PodPlace:
    """Return why the bound ``pod`` ("namespace/name") is on its node. Raise Http404 if it is not bound."""
    pod_seen(snapshot, pod)

    def compute() -> PodPlace:
        scheduler = services.scheduler_of(snapshot, revision)
        return explain_place(scheduler.snapshot, scheduler.configuration, pod)

    try:
        return services.get_or_compute(snapshot, (revision.pk, "place", pod), compute)
    except KeyError:
        raise Http404("There is no such pod on a node.") from None


def report_answer(question: Question, step: Step) -> Answer:
    """Answer the report on a node of a large cluster."""
    snapshot, revision = snapshot_and_revision(question)
    step("Reading the cluster", 0, 0)
    asked = question.asked
    report = _compute_report(snapshot, revision, asked["node"], places=asked["places"], step=step)
    plain = report.to_dict()
    return report_title(report), {"report": plain, "answer": report_to_json(snapshot, revision, report)}, None


def report_to_json(snapshot: Snapshot, revision: Revision, report: NodeReport) -> Json:
    """Return the data of ``api.NodeReportSerializer``."""
    return services.answer_subject(snapshot, revision) | report.to_dict()


def _compute_report(
    snapshot: Snapshot, revision: Revision, name: str, *, places: bool, step: Step | None = None
) -> NodeReport:
    def pulse() -> None:
        checkpoint()
        if step is not None:
            step("Explaining pods", 0, 0)

    def compute() -> NodeReport:
        scheduler = services.scheduler_of(snapshot, revision)
        return report_node(scheduler.snapshot, scheduler.configuration, name, places=places, pulse=pulse)

    return services.get_or_compute(snapshot, (revision.pk, "node", name, places), compute)
