"""All pods that a roll-out would move, asked by a job: those of a large cluster, or more than a request may ask."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from django.http import Http404
from django.urls import reverse

from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import snapshot_current
from kschedweb.decisions import services as decisions
from kschedweb.decisions.inquiring.answering import about
from kschedweb.decisions.inquiring.deciding import everything, moved
from kschedweb.decisions.inquiring.selectors import answer_of
from kschedweb.decisions.inquiring.services import of_cluster, question_ask
from kschedweb.decisions.models import Kind
from kschedweb.engine.patience import NotNow
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.live.schedulers.rollout import Moves, compared, sides
from kschedweb.live.schedulers.selectors import revision_in_force
from kschedweb.policies.models import Revision
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.jobs.inquiries import Step


def moves(user: User, live: LiveScheduler, after: Revision, *, everyone: bool) -> Moves | Question | None:
    """Which pods would go elsewhere; ``None`` without a snapshot, or where ``after`` has no profile for ``live``.

    Of a large cluster, or with ``everyone``, a job asks; a question that has no answer yet.
    """
    snapshot, before = snapshot_current(live.cluster), revision_in_force(live)
    if snapshot is None or sides(live, before, after) is None:
        return None
    if not everyone and all(decisions.at_hand(snapshot, one) for one in (before, after)):
        with suppress(NotNow):
            return Moves(snapshot, compared(live, snapshot, before, after))
    address = f"{reverse('live-rollout', args=[live.pk])}?policy={after.policy.name}&revision={after.number}&effect=all"
    ask = of_cluster(Kind.ROLL_OUT, snapshot, before, address, live=str(live.pk), after=after.pk)
    question = question_ask(user=user, ask=ask)
    content = answer_of(question)
    return question if content is None else Moves(snapshot, content)


def moves_answer(question: Question, step: Step) -> Answer:
    """Where all pods of a live scheduler would go."""
    snapshot, before = about(question)
    live = LiveScheduler.objects.select_related("cluster").filter(pk=question.asked["live"]).first()
    after = Revision.objects.select_related("policy").filter(pk=question.asked["after"]).first()
    if live is None or after is None:
        raise Unprocessable("The live scheduler or the policy was deleted before there was an answer.")
    step("Reading the cluster", 0, 0)
    found = compared(live, snapshot, before, after, **everything(step))
    return moved(found, f"pods of {live.scheduler_name}")


def readable(user: User, question: Question) -> None:
    """Raise Http404 for those who may not roll anything out."""
    if not user.may(Action.ADMINISTER):
        raise Http404("There is no such question.")
