"""The devices of a node for a pod, as REST tells them: at once, or by a job where the cluster is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from kschedweb.decisions import services
from kschedweb.decisions.case import Case
from kschedweb.decisions.devices import told
from kschedweb.decisions.inquiring.answering import about
from kschedweb.decisions.inquiring.services import of_cluster, pod_known, sought
from kschedweb.decisions.kinds import decider
from kschedweb.decisions.models import Kind
from kschedweb.decisions.shown import device_node
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision


def rest(user: User, snapshot: Snapshot, revision: Revision, pod: str, node: str) -> told.Told | Question:
    """The devices of ``node``, or of the one that suits the pod best where that is "".

    Raises NotFound, and Unprocessable where there is no such node or the policy is a classic one.
    """
    if not revision.policy.dialect.has_profiles:
        raise Unprocessable.at("policy", "A classic kube-scheduler knows no devices: take a policy with profiles.")
    if not (quick := services.at_hand(snapshot, revision)):
        pod_known(snapshot, pod)
    path = reverse("api:devices", args=[snapshot.cluster.name, *pod.split("/")])
    address = services.address(path, snapshot, revision, node=node)
    ask = of_cluster(Kind.DEVICES, snapshot, revision, address, pod=pod, node=node)
    return sought(
        user, ask, lambda: _devices(snapshot, revision, pod, node), lambda _, content: content["answer"], at_hand=quick
    )


def devices_answer(question: Question, step: Step) -> Answer:
    """The devices of a node of a large cluster."""
    snapshot, revision = about(question)
    step("Reading the cluster", 0, 0)
    found = _devices(snapshot, revision, question.asked["pod"], question.asked["node"])
    return f"The devices of {found['node']}", {"answer": found}, None


def _devices(snapshot: Snapshot, revision: Revision, pod: str, named: str) -> told.Told:
    case, decides = services.case(snapshot, pod, revision), decider(revision)
    shown = decides.present(case)
    assert isinstance(case, Case)
    node = device_node(named, shown, None if case.explanation.feasible.size else shown.nearest_miss())
    if node is None:
        problem = f"The snapshot has no node {named[:300]}." if named else "The pod fits nowhere: name a node."
        raise Unprocessable.at("node", problem)
    with services.alone(snapshot):
        found = told.devices(case, node)
    return {**services.about(snapshot, revision), "release": decides.release(case), **found}
