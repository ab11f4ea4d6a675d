"""Questions where a pod goes, and which pods another policy moves."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.translation import override

from kschedweb.decisions import services, told
from kschedweb.decisions.editing.effect import effect
from kschedweb.decisions.inquiring.answering import about
from kschedweb.decisions.inquiring.services import Ask, of_cluster, pod_known, question_ask
from kschedweb.decisions.kept import columns, insight
from kschedweb.decisions.kinds import comparison, decider, named
from kschedweb.decisions.matrix.comparing import Comparison
from kschedweb.decisions.models import Kind
from kschedweb.decisions.selectors import revision_named
from kschedweb.decisions.shown import device_node
from kschedweb.policies.selectors import runs
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.editing.effect import Effect
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

    Other = tuple[Revision, AnyCase | Unprocessable]

MOST_PODS = 5_000  # of which the effect of a policy is asked
MOST_SHOWN = 500  # of them, with their nodes before and after


def decision_ask(*, user: User, snapshot: Snapshot, revision: Revision, pod: str, against: str = "") -> Question:
    """The question about ``pod`` ("namespace/name"): the one that somebody asked before, or a new one with its job.

    ``against`` names another revision ("policy@number"). Raises NotFound where the snapshot has no such pod.
    """
    pod_known(snapshot, pod)
    return question_ask(user=user, ask=decision_question(snapshot, revision, pod, against))


def decision_question(snapshot: Snapshot, revision: Revision, pod: str, against: str = "") -> Ask:
    """The question where ``pod`` goes, before anybody was asked."""
    return of_cluster(Kind.DECISION, snapshot, revision, pod=pod, against=against)


def effect_ask(
    *, user: User, snapshot: Snapshot, revision: Revision, document: str, process: dict[str, Any]
) -> Question:
    """The question which pending pods would change node under ``document`` instead of ``revision``."""
    ask = of_cluster(Kind.EFFECT, snapshot, revision, document=document, process=process)
    return question_ask(user=user, ask=ask)


def decision_answer(question: Question, step: Step) -> Answer:
    """Where a pod goes: what REST answers, and every verdict and score."""
    (snapshot, revision), asked = about(question), question.asked
    step("Reading the cluster", 0, 0)
    services.scheduler_of(snapshot, revision)
    step("Judging the pod on every node", 0, 0)
    pod, other = asked["pod"], None
    case, room = services.case(snapshot, pod, revision), services.with_room(snapshot, pod, revision)
    if asked["against"]:
        step("Judging it under the other policy", 0, 0)
        against = revision_named(asked["against"])
        other = against, services.other_case(snapshot, pod, against)

    def beside(shown: Presentation) -> dict[str, Any]:
        return {"comparison": None if other is None else _compared(shown, revision, other)}

    content = {"answer": told.decision(snapshot, case, revision)}
    return kept(lambda: decider(revision).present(case), room, case.explanation.node, content, beside)


def kept(
    present: Callable[[], Presentation],
    explanation: Explanation,
    node: str,
    content: dict[str, Any],
    beside: Callable[[Presentation], dict[str, Any]] = lambda shown: {},
) -> Answer:
    """A decision as it is kept: what its page says beside ``content``, in each language, and the columns.

    The pod went to ``node``; ``beside`` is what else the page says.
    """
    said, insights = {}, {}
    for language, _ in settings.LANGUAGES:
        with override(language):
            shown = present()
            said[language] = _said(shown) | beside(shown)
            insights[language] = insight.of(shown, node)
    first = said.pop(settings.LANGUAGE_CODE)
    packed = columns.pack(explanation, insights.pop(settings.LANGUAGE_CODE), insights)
    return first["headline"]["title"], {**first, **content, "languages": said}, packed


def _said(shown: Presentation) -> dict[str, Any]:
    """What the page of a decision says in the language of now."""
    at = device_node("", shown, None if shown.explanation.feasible.size else shown.nearest_miss())
    devices = None if at is None else shown.devices(at)
    return {
        "headline": asdict(shown.answer()),
        "all_reasons": shown.all_reasons,
        "scale": shown.scale,
        "devices": None if devices is None else asdict(devices),
    }


def _compared(shown: Presentation, revision: Revision, other: Other) -> dict[str, Any]:
    """The comparison with the other policy; ``title`` is the error where its cycle fails."""
    against, found = other
    if isinstance(found, Unprocessable):
        return asdict(Comparison(named(revision), named(against), found.detail))
    return asdict(comparison(decider(revision).present(shown.case, found), revision, against, found))


def effect_answer(question: Question, step: Step) -> Answer:
    """Which pending pods change node under an edited policy."""
    (snapshot, revision), asked = about(question), question.asked
    step("Reading the cluster", 0, 0)
    services.scheduler_of(snapshot, revision)
    edited = revision.policy.dialect.load(asked["document"], asked["process"])
    everyone = everything(step)
    return moved(effect(snapshot, runs(revision), edited, decides=decider(revision), **everyone), "pending pods")


def everything(step: Step) -> dict[str, Any]:
    """How ``effect`` is asked by a job: of many pods, for as long as it takes."""
    return {"limit": MOST_PODS, "seconds": float("inf"), "heard": partial(step, "Asking pods")}


def moved(found: Effect, nouns: str) -> Answer:
    """An effect on ``nouns`` as it is kept."""
    moving = found.moving
    sentence = f"{moving:,} of {found.asked:,} {nouns} would change node"
    found.moved, found.failed = found.moved[:MOST_SHOWN], found.failed[:MOST_SHOWN]
    return sentence, asdict(found) | {"moving": moving}, None
