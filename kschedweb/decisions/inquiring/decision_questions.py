"""Questions for jobs: where a pod goes, and which pods another policy moves."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.translation import override

from kschedweb.decisions import rest_answers, services
from kschedweb.decisions.deciders import build_comparison, get_decider, label_revision
from kschedweb.decisions.editing.effect import compute_effect
from kschedweb.decisions.inquiring.handlers import snapshot_and_revision
from kschedweb.decisions.inquiring.services import QuestionRequest, of_cluster, pod_known, question_ask
from kschedweb.decisions.kept import explanation_bytes, insight
from kschedweb.decisions.matrix.comparison import PolicyComparison
from kschedweb.decisions.models import QuestionKind
from kschedweb.decisions.page_context import device_node
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.json_types import Json
from kschedweb.policies.selectors import load_revision
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.editing.effect import Effect
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

    Other = tuple[Revision, AnyCase | Unprocessable]

# Pods that are compared for the effect of a policy.
MOST_PODS = 5_000
# Moved pods that are stored, with their nodes before and after.
MOST_SHOWN = 500


def decision_ask(*, user: User, snapshot: Snapshot, revision: Revision, pod: str, against: str = "") -> Question:
    """Return the question about ``pod`` ("namespace/name"): an earlier one, or a new one with its job.

    ``against`` names another revision ("policy@number"). Raises NotFound if the snapshot has no such pod.
    """
    pod_known(snapshot, pod)
    return question_ask(user=user, ask=decision_question(snapshot, revision, pod, against))


def decision_question(snapshot: Snapshot, revision: Revision, pod: str, against: str = "") -> QuestionRequest:
    """Return the question where ``pod`` goes, without asking it."""
    return of_cluster(QuestionKind.DECISION, snapshot, revision, pod=pod, against=against)


def effect_ask(*, user: User, snapshot: Snapshot, revision: Revision, document: str, process: Json) -> Question:
    """Ask which pending pods would change node under ``document`` instead of ``revision``."""
    ask = of_cluster(QuestionKind.EFFECT, snapshot, revision, document=document, process=process)
    return question_ask(user=user, ask=ask)


def decision_answer(question: Question, step: Step) -> Answer:
    """Answer where a pod goes: what REST returns, and every verdict and score."""
    (snapshot, revision), parameters = snapshot_and_revision(question), question.asked
    step("Reading the cluster", 0, 0)
    services.scheduler_of(snapshot, revision)
    step("Judging the pod on every node", 0, 0)
    pod, other = parameters["pod"], None
    case, room = services.decide_pod(snapshot, pod, revision), services.with_room(snapshot, pod, revision)
    if parameters["against"]:
        step("Judging it under the other policy", 0, 0)
        against = revision_named(parameters["against"])
        other = against, services.other_case(snapshot, pod, against)

    def extra_content(presentation: Presentation) -> Json:
        return {"comparison": None if other is None else _comparison_content(presentation, revision, other)}

    content = {"answer": rest_answers.decision_to_json(snapshot, case, revision)}
    return pack_decision(
        lambda: get_decider(revision).present(case), room, case.explanation.node, content, extra_content
    )


def pack_decision(
    present: Callable[[], Presentation],
    explanation: Explanation,
    node: str,
    content: Json,
    extra_content: Callable[[Presentation], Json] = lambda presentation: {},
) -> Answer:
    """Pack a decision for storage: the text of its page in each language, ``content``, and the columns.

    The pod went to ``node``; ``extra_content`` returns further text of the page.
    """
    # The text is rendered in every language now, since the cluster may be gone when somebody reads it.
    content_by_language, insights = {}, {}
    for language, _ in settings.LANGUAGES:
        with override(language):
            presentation = present()
            content_by_language[language] = _page_content(presentation) | extra_content(presentation)
            insights[language] = insight.build_insight(presentation, node)
    first = content_by_language.pop(settings.LANGUAGE_CODE)
    packed = explanation_bytes.pack_explanation(explanation, insights.pop(settings.LANGUAGE_CODE), insights)
    return first["headline"]["title"], {**first, **content, "languages": content_by_language}, packed


def _page_content(presentation: Presentation) -> Json:
    """Return the text of a decision's page in the active language."""
    at = device_node("", presentation, None if presentation.explanation.feasible.size else presentation.nearest_miss())
    devices = None if at is None else presentation.devices_on_node(at)
    return {
        "headline": asdict(presentation.build_headline()),
        "all_reasons": presentation.all_reasons,
        "scale": presentation.scale,
        "devices": None if devices is None else asdict(devices),
    }


def _comparison_content(presentation: Presentation, revision: Revision, other: Other) -> Json:
    """Return the comparison with the other policy; ``title`` is the error if its cycle fails."""
    against, other_case = other
    if isinstance(other_case, Unprocessable):
        return asdict(PolicyComparison(label_revision(revision), label_revision(against), other_case.detail))
    return asdict(
        build_comparison(get_decider(revision).present(presentation.case, other_case), revision, against, other_case)
    )


def effect_answer(question: Question, step: Step) -> Answer:
    """Answer which pending pods change node under an edited policy."""
    (snapshot, revision), parameters = snapshot_and_revision(question), question.asked
    step("Reading the cluster", 0, 0)
    services.scheduler_of(snapshot, revision)
    edited = revision.policy.dialect.load(parameters["document"], parameters["process"])
    limits = job_limits(step)
    return pack_effect(
        compute_effect(snapshot, load_revision(revision), edited, decider=get_decider(revision), **limits),
        "pending pods",
    )


def job_limits(step: Step) -> dict[str, Any]:
    """Return the arguments of ``compute_effect`` in a job: many pods, for as long as it takes."""
    return {"limit": MOST_PODS, "seconds": float("inf"), "on_progress": partial(step, "Asking pods")}


def pack_effect(effect: Effect, nouns: str) -> Answer:
    """Pack an effect on ``nouns`` for storage."""
    moving = effect.moving
    sentence = f"{moving:,} of {effect.asked:,} {nouns} would change node"
    effect.moved, effect.failed = effect.moved[:MOST_SHOWN], effect.failed[:MOST_SHOWN]
    return sentence, asdict(effect) | {"moving": moving}, None
