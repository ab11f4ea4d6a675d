"""The page of a ready scenario: a drawing of the cluster, and the decision about its pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.deciders import present_case
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.playground.runs import measures, selectors
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.scenarios.ready import ready_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.reason_translation import translate_reason

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine.studies.play.explained_tries import ExplainedTry
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.scenarios.picture import Picture


@require_safe
@requires(Action.VIEW)
def show_explained(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Show a ready scenario with its drawing, and the decision about its pod."""
    scenario = scenarios.scenario_get(request.user, scenario_id)
    ready = ready_of(scenario.pk)
    if ready is None:
        raise Http404("This scenario does not come with the site, so nothing is told about it.")
    revision = scenarios.revision_get(scenario)
    drawn = scenarios.draw_base(revision)
    run = selectors.ready_run(ready, revision)
    context: dict[str, object] = {
        "scenario": scenario,
        "ready": ready.translated,
        "revision": revision,
        "picture": drawn,
        "run": run,
        "policy": selectors.ready_policy(ready),
    }
    if run is not None and run.ended_at is not None:
        outcome = selectors.load_outcome(run)
        context["answer"] = _explain_decision(run, ready.pod, drawn) if ready.pod else None
        context["placed"] = ready.pod_name if any(node.state == "chosen" for node in drawn.nodes) else ""
        context["sentence"] = measures.run_sentence(run, outcome)
    return render(request, "playground/runs/scenario_explained.html", context)


def _explain_decision(run: Run, pod: str, drawn: Picture) -> Any:
    """Return one sentence about the decision on ``pod``, and put the verdict on each node into ``drawn``."""
    outcome = selectors.load_outcome(run)
    if pod not in outcome.index:
        return None
    attempts = int(outcome.attempts[outcome.index[pod]])
    try:
        case, replayed = selectors.replay_decision(run, pod, attempts)
    # The page is complete without the decision, which a slow machine may not find in time.
    except (ApplicationError, DeadlineExceeded):
        return None
    presentation = present_case(case)
    _mark_nodes(drawn, presentation, replayed)
    return presentation.build_headline()


def _mark_nodes(drawn: Picture, presentation: Presentation, replayed: ExplainedTry) -> None:
    """Put the verdict of the decision on each node into ``drawn``."""
    explanation = presentation.explanation
    totals = dict(zip(explanation.feasible.tolist(), explanation.total.tolist(), strict=False))
    for node in drawn.nodes:
        position = explanation.nodes.index(node.name)
        if (verdict := explanation.verdict_at(position)) is not None:
            node.state, node.note = "rejected", f"{verdict.plugin}: {', '.join(verdict.reasons)}"
            node.reading = "; ".join(filter(None, map(translate_reason, verdict.reasons)))
            continue
        node.state = "chosen" if node.name == replayed.placement.node else "fits"
        node.note = (
            gettext("%(done)s of %(total)s") % {"done": totals[position], "total": presentation.ceiling}
            if len(totals) > 1
            else gettext("the only node that can run it")
        )
