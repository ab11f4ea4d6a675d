"""The decision about a pod in a run: at once, or by a job where the run has to be played again for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from django.urls import reverse

from kschedweb.decisions.inquiring.deciding import kept
from kschedweb.decisions.inquiring.services import Ask, sought
from kschedweb.decisions.kinds import presented
from kschedweb.decisions.models import Kind
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.models import Run
from kschedweb.playground.scenarios.selectors import at_hand
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.decisions.inquiring.answering import Answer
    from kschedweb.decisions.models import Question
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine.studies.play.deciding import Decided
    from kschedweb.jobs.inquiries import Step

    Found = TypeVar("Found")


def decision_sought(
    user: User,
    run: Run,
    pod: str,
    attempt: int,
    made: Callable[[Presentation, Decided], Found],
    read: Callable[[Question, dict[str, Any]], Found],
) -> Found | Question:
    """What ``made`` makes of try ``attempt`` (from 1) of ``pod``, or ``read`` of what a job kept of it.

    The question is the answer where a request would be silent for long: its page shows how far the job is.

    Raises NotFound and Unprocessable as ``selectors.decided``.
    """

    def work() -> Found:
        case, tried = selectors.decided(run, pod, attempt)
        return made(presented(case), tried)

    ask = Ask(
        Kind.RUN,
        {"run": str(run.pk), "pod": pod, "attempt": attempt},
        about=f"{run.revision.scenario.name}, seed {run.seed}"[:300],
        policy=run.label,
        address=f"{reverse('run-decision', args=[run.pk, *pod.split('/')])}?attempt={attempt}",
        private=run.revision.scenario.private,
    )
    quick = at_hand(run.revision, run.seed) and selectors.soon(run, pod, attempt)
    return sought(user, ask, work, read, at_hand=quick)


def decision_answer(question: Question, step: Step) -> Answer:
    """The decision, however long the run has to be played."""
    run = Run.objects.select_related("revision__scenario").filter(pk=question.asked["run"]).first()
    if run is None:
        raise Unprocessable("The run was deleted before there was an answer.")
    step("Reading the scenario", 0, 0)
    case, tried = selectors.decided(run, question.asked["pod"], question.asked["attempt"], step)
    shown = presented(case)
    content = {"classic": bool(shown.algorithm), "tried": placed(tried), "answer": told(run, shown, tried)}
    return kept(lambda: presented(case), case.explanation, tried.placement.node, content)


def readable(user: User, question: Question) -> None:
    """Raise Http404 where ``user`` may not see the run."""
    selectors.run_get(user, question.asked["run"])


def placed(tried: Decided) -> dict[str, Any]:
    """What the run made of the try, as plain data."""
    placement = tried.placement
    return {
        "attempt": tried.attempt,
        "attempts": tried.attempts,
        "time": tried.time,
        "node": placement.node,
        "nominated": placement.nominated or "",
        "victims": list(placement.victims),
        "evaluated": placement.evaluated,
        "feasible": placement.feasible,
    }


def told(run: Run, shown: Presentation, tried: Decided) -> dict[str, Any]:
    """The decision as REST tells it."""
    found = shown.explanation.to_dict()
    return {"run": str(run.pk), "policy": run.label, "pod": tried.pod.key, **placed(tried), "decision": found}
