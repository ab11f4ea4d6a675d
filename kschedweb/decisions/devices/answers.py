"""Answers of REST about the devices of a node for a pod: at once, or by a job if the cluster is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from kschedweb.decisions import services
from kschedweb.decisions.case import Case
from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.devices import rest_answers
from kschedweb.decisions.inquiring.handlers import snapshot_and_revision
from kschedweb.decisions.inquiring.services import find_answer, of_cluster, pod_known
from kschedweb.decisions.models import QuestionKind
from kschedweb.decisions.page_context import device_node
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision


def find_devices(user: User, snapshot: Snapshot, revision: Revision, pod: str, node: str) -> Json | Question:
    """Return the devices of ``node``, or, if that is "", of the node that suits the pod best.

    Raises NotFound, and Unprocessable if there is no such node or the policy is a classic one.
    """
    if not revision.policy.dialect.has_profiles:
        raise Unprocessable.at("policy", "A classic kube-scheduler knows no devices: take a policy with profiles.")
    if not (is_at_hand := services.at_hand(snapshot, revision)):
        pod_known(snapshot, pod)
    path = reverse("api:devices", args=[snapshot.cluster.name, *pod.split("/")])
    address = services.page_address(path, snapshot, revision, node=node)
    ask = of_cluster(QuestionKind.DEVICES, snapshot, revision, address, pod=pod, node=node)
    return find_answer(
        user,
        ask,
        lambda: _compute_devices(snapshot, revision, pod, node),
        lambda _, content: content["answer"],
        at_hand=is_at_hand,
    )


def devices_answer(question: Question, step: Step) -> Answer:
    """Answer a question about the devices of a node of a large cluster."""
    snapshot, revision = snapshot_and_revision(question)
    step("Reading the cluster", 0, 0)
    devices = _compute_devices(snapshot, revision, question.asked["pod"], question.asked["node"])
    return f"The devices of {devices['node']}", {"answer": devices}, None


def _compute_devices(snapshot: Snapshot, revision: Revision, pod: str, node_name: str) -> Json:
    case, decider = services.decide_pod(snapshot, pod, revision), get_decider(revision)
    presentation = decider.present(case)
    assert isinstance(case, Case)
    node = device_node(node_name, presentation, None if case.explanation.feasible.size else presentation.nearest_miss())
    if node is None:
        problem = f"The snapshot has no node {node_name[:300]}." if node_name else "The pod fits nowhere: name a node."
        raise Unprocessable.at("node", problem)
    # Inspecting devices fills caches of the shared snapshot.
    with services.lock_snapshot(snapshot):
        devices = rest_answers.devices_to_json(case, node)
    return {**services.answer_subject(snapshot, revision), "release": decider.release_version(case), **devices}
