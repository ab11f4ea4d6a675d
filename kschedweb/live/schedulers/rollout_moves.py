"""The pods that a roll-out would move. A job finds them in a large cluster, or if there are too many for a request."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from django.http import Http404
from django.urls import reverse

from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import snapshot_current
from kschedweb.decisions import services as decisions
from kschedweb.decisions.inquiring.decision_questions import job_limits, pack_effect
from kschedweb.decisions.inquiring.handlers import snapshot_and_revision
from kschedweb.decisions.inquiring.selectors import answer_of
from kschedweb.decisions.inquiring.services import of_cluster, question_ask
from kschedweb.decisions.models import QuestionKind
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.live.schedulers.rollout import RollOutMoves, both_configurations, compare_pods
from kschedweb.live.schedulers.selectors import revision_in_force
from kschedweb.policies.models import Revision
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step


def ask_moves(user: User, live: LiveScheduler, after: Revision, *, everyone: bool) -> RollOutMoves | Question | None:
    """Return which pods would go elsewhere; None without a snapshot, or if ``after`` has no profile for ``live``.

    For a large cluster, or with ``everyone``, a job finds them: until it has, its question is returned.
    """
    snapshot, before = snapshot_current(live.cluster), revision_in_force(live)
    if snapshot is None or both_configurations(live, before, after) is None:
        return None
    if not everyone and all(decisions.at_hand(snapshot, revision) for revision in (before, after)):
        # If the request runs out of time, a job takes over below.
        with suppress(DeadlineExceeded):
            return RollOutMoves(snapshot, compare_pods(live, snapshot, before, after))
    address = f"{reverse('live-rollout', args=[live.pk])}?policy={after.policy.name}&revision={after.number}&effect=all"
    ask = of_cluster(QuestionKind.ROLL_OUT, snapshot, before, address, live=str(live.pk), after=after.pk)
    question = question_ask(user=user, ask=ask)
    content = answer_of(question)
    return question if content is None else RollOutMoves(snapshot, content)


def moves_answer(question: Question, step: Step) -> Answer:
    """Answer a question: where would all pods of a live scheduler go?"""
    snapshot, before = snapshot_and_revision(question)
    live = LiveScheduler.objects.select_related("cluster").filter(pk=question.asked["live"]).first()
    after = Revision.objects.select_related("policy").filter(pk=question.asked["after"]).first()
    if live is None or after is None:
        raise Unprocessable("The live scheduler or the policy was deleted before there was an answer.")
    step("Reading the cluster", 0, 0)
    pods_effect = compare_pods(live, snapshot, before, after, **job_limits(step))
    return pack_effect(pods_effect, f"pods of {live.scheduler_name}")


def check_readable(user: User, question: Question) -> None:
    """Raise Http404 for people who may not roll anything out."""
    if not user.may(Action.ADMINISTER):
        raise Http404("There is no such question.")
