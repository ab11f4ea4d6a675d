"""Questions where a pod goes, and which pods another policy moves."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from kschedweb.decisions import services, told
from kschedweb.decisions.editing.effect import effect
from kschedweb.decisions.inquiring.answering import about
from kschedweb.decisions.inquiring.services import of_cluster, pod_known, question_ask
from kschedweb.decisions.kept import columns, insight
from kschedweb.decisions.kinds import comparison, decider, named
from kschedweb.decisions.matrix.comparing import Comparison
from kschedweb.decisions.models import Kind
from kschedweb.decisions.selectors import revision_named
from kschedweb.decisions.shown import device_node
from kschedweb.policies.selectors import runs
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.editing.effect import Effect
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

MOST_PODS = 5_000  # of which the effect of a policy is asked
MOST_SHOWN = 500  # of them, with their nodes before and after


def decision_ask(*, user: User, snapshot: Snapshot, revision: Revision, pod: str, against: str = "") -> Question:
    """The question about ``pod`` ("namespace/name"): the one that somebody asked before, or a new one with its job.

    ``against`` names another revision ("policy@number"). Raises NotFound where the snapshot has no such pod.
    """
    pod_known(snapshot, pod)
    return question_ask(user=user, ask=of_cluster(Kind.DECISION, snapshot, revision, pod=pod, against=against))


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
    pod, compared = asked["pod"], None
    case = services.case(snapshot, pod, revision)
    shown, room = decider(revision).present(case), services.with_room(snapshot, pod, revision)
    if asked["against"]:
        step("Judging it under the other policy", 0, 0)
        compared = _compared(shown, snapshot, pod, revision, revision_named(asked["against"]))
    content = {"comparison": compared, "answer": told.decision(snapshot, case, revision)}
    return kept(shown, room, case.explanation.node, content)


def kept(shown: Presentation, explanation: Explanation, node: str, content: dict[str, Any]) -> Answer:
    """A decision as it is kept: what its page says beside ``content``, and the columns; the pod went to ``node``."""
    headline = shown.answer()
    at = device_node("", shown, None if shown.explanation.feasible.size else shown.nearest_miss())
    devices = None if at is None else shown.devices(at)
    content = {
        "headline": asdict(headline),
        "all_reasons": shown.all_reasons,
        "scale": shown.scale,
        "devices": None if devices is None else asdict(devices),
        **content,
    }
    return headline.title, content, columns.pack(explanation, insight.of(shown, node))


def _compared(
    shown: Presentation, snapshot: Snapshot, pod: str, revision: Revision, against: Revision
) -> dict[str, Any]:
    """The comparison with ``against``; ``title`` is the error where its cycle fails."""
    decides = decider(revision)
    try:
        other = services.case(snapshot, pod, against)
    except Unprocessable as error:
        return asdict(Comparison(named(revision), named(against), error.detail))
    return asdict(comparison(decides.present(shown.case, other), revision, against, other))


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
