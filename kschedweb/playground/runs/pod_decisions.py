"""The decision about a pod in a run: at once, or by a job if the run has to be replayed for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.urls import reverse

from kschedweb.decisions.deciders import present_case
from kschedweb.decisions.inquiring.decision_questions import pack_decision
from kschedweb.decisions.inquiring.services import QuestionRequest, find_answer
from kschedweb.decisions.models import QuestionKind
from kschedweb.engine.json_types import Json
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.models import Run
from kschedweb.playground.scenarios.selectors import at_hand
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.decisions.inquiring.handlers import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine.studies.play.explained_tries import ExplainedTry
    from kschedweb.jobs.inquiries import Step

    AnswerT = TypeVar("AnswerT")


def decision_sought(
    user: User,
    run: Run,
    pod: str,
    attempt: int,
    present: Callable[[Presentation, ExplainedTry], AnswerT],
    read: Callable[[Question, Json], AnswerT],
) -> AnswerT | Question:
    """Return what ``present`` makes of try ``attempt`` (from 1) of ``pod``, or a question if a job has to find it.

    ``read`` takes an answer that a job has stored. A question is returned where a request would take too long; its page
    shows the progress. Raises NotFound and Unprocessable as ``selectors.replay_decision`` does.
    """

    def decide_pod() -> AnswerT:
        case, replayed = selectors.replay_decision(run, pod, attempt)
        return present(present_case(case), replayed)

    ask = QuestionRequest(
        QuestionKind.RUN,
        {"run": str(run.pk), "pod": pod, "attempt": attempt},
        snapshot_label=f"{run.revision.scenario.name}, seed {run.seed}"[:300],
        policy=run.label,
        address=f"{reverse('run-decision', args=[run.pk, *pod.split('/')])}?attempt={attempt}",
        private=run.revision.scenario.private,
    )
    quick = at_hand(run.revision, run.seed) and selectors.is_soon(run, pod, attempt)
    return find_answer(user, ask, decide_pod, read, at_hand=quick)


def decision_answer(question: Question, step: Step) -> Answer:
    """Return the decision, however long the run has to be replayed."""
    run = Run.objects.select_related("revision__scenario").filter(pk=question.asked["run"]).first()
    if run is None:
        raise Unprocessable("The run was deleted before there was an answer.")
    step("Reading the scenario", 0, 0)
    case, replayed = selectors.replay_decision(run, question.asked["pod"], question.asked["attempt"], step)
    presentation = present_case(case)
    content = {
        "classic": bool(presentation.algorithm),
        "tried": placement_json(replayed),
        "answer": decision_json(run, presentation, replayed),
    }
    return pack_decision(lambda: present_case(case), case.explanation, replayed.placement.node, content)


def check_readable(user: User, question: Question) -> None:
    """Raise Http404 if ``user`` may not see the run."""
    selectors.run_get(user, question.asked["run"])


def placement_json(replayed: ExplainedTry) -> Json:
    """Return the result of the try in the run as plain data."""
    placement = replayed.placement
    return {
        "attempt": replayed.attempt,
        "attempts": replayed.attempts,
        "time": replayed.time,
        "node": placement.node,
        "nominated": placement.nominated or "",
        "victims": list(placement.victims),
        "evaluated": placement.evaluated,
        "feasible": placement.feasible,
    }


def decision_json(run: Run, presentation: Presentation, replayed: ExplainedTry) -> Json:
    """Return the decision as REST tells it."""
    decision = presentation.explanation.to_dict()
    return {
        "run": str(run.pk),
        "policy": run.label,
        "pod": replayed.pod.key,
        **placement_json(replayed),
        "decision": decision,
    }
