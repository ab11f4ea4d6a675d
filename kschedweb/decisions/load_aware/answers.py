"""Answers about load-aware policies on the nodes of a cluster: at once, or by a job if the cluster is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse

from kschedweb.decisions import services
from kschedweb.decisions.inquiring.handlers import snapshot_and_revision
from kschedweb.decisions.inquiring.services import find_answer, of_cluster, pod_known
from kschedweb.decisions.load_aware import rest_answers
from kschedweb.decisions.load_aware.contest import Contest, run_contest
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.decisions.models import QuestionKind
from kschedweb.decisions.snapshots import at_hand
from kschedweb.policies.selectors import load_configuration

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision


def contest_sought(user: User, snapshot: Snapshot, revision: Revision, pod: str) -> Contest | Question:
    """Return every side of ``revision`` on the nodes of the snapshot for ``pod`` ("namespace/name").

    Raises NotFound if the snapshot has no such pod.
    """
    if not (is_at_hand := at_hand(snapshot)):
        pod_known(snapshot, pod)
    sides = all_sides(load_configuration(revision))
    parameters = {"cluster": snapshot.cluster.name, "pod_name": pod}
    address = services.page_address(reverse("load-aware"), snapshot, revision, **parameters)
    return find_answer(
        user,
        of_cluster(QuestionKind.LOAD_AWARE, snapshot, revision, address, pod=pod),
        lambda: run_contest(snapshot, pod, sides),
        lambda question, content: Contest.unpack(content["contest"], bytes(question.columns or b""), sides),
        at_hand=is_at_hand,
    )


def contest_answer(question: Question, step: Step) -> Answer:
    """Answer the same for a large cluster."""
    snapshot, revision = snapshot_and_revision(question)
    step("Reading the cluster", 0, 0)
    contest = run_contest(snapshot, question.asked["pod"], all_sides(load_configuration(revision)))
    plain, packed = contest.pack()
    answer = services.answer_subject(snapshot, revision) | rest_answers.contest_to_json(contest)
    return contest.title, {"contest": plain, "answer": answer}, packed
