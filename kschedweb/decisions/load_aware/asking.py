"""Load-aware policies on the nodes of a cluster: at once, or by a job where the cluster is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from kschedweb.decisions import services
from kschedweb.decisions.inquiring.answering import about
from kschedweb.decisions.inquiring.services import of_cluster, pod_known, sought
from kschedweb.decisions.load_aware import told
from kschedweb.decisions.load_aware.contest import Contest, contest
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.decisions.models import Kind
from kschedweb.decisions.snapshots import at_hand
from kschedweb.policies.selectors import configuration

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision


def contest_sought(user: User, snapshot: Snapshot, revision: Revision, pod: str) -> Contest | Question:
    """Every side of ``revision`` on the nodes of the snapshot for ``pod`` ("namespace/name").

    Raises NotFound if the snapshot has no such pod.
    """
    if not (quick := at_hand(snapshot)):
        pod_known(snapshot, pod)
    sides = all_sides(configuration(revision))
    named = {"cluster": snapshot.cluster.name, "pod_name": pod}
    address = services.address(reverse("load-aware"), snapshot, revision, **named)
    return sought(
        user,
        of_cluster(Kind.LOAD_AWARE, snapshot, revision, address, pod=pod),
        lambda: contest(snapshot, pod, sides),
        lambda question, content: Contest.read(content["contest"], bytes(question.columns or b""), sides),
        at_hand=quick,
    )


def contest_answer(question: Question, step: Step) -> Answer:
    """The same of a large cluster."""
    snapshot, revision = about(question)
    step("Reading the cluster", 0, 0)
    found = contest(snapshot, question.asked["pod"], all_sides(configuration(revision)))
    plain, packed = found.kept()
    answer = services.about(snapshot, revision) | told.contest(found)
    return found.title, {"contest": plain, "answer": answer}, packed
