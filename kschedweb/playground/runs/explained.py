"""The page of a ready scenario: a drawing of the cluster, and the decision about its pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.kinds import presented
from kschedweb.engine.patience import NotNow
from kschedweb.playground.runs import measures, selectors
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.scenarios.ready import ready_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.readings import reading

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine.studies.play.deciding import Decided
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.scenarios.picture import Picture


@require_safe
@requires(Action.VIEW)
def explained(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = scenarios.scenario_get(request.user, scenario_id)
    ready = ready_of(found.pk)
    if ready is None:
        raise Http404("This scenario does not come with the site, so nothing is told about it.")
    revision = scenarios.revision_get(found)
    drawn = scenarios.picture(revision)
    run = selectors.ready_run(ready, revision)
    context: dict[str, Any] = {
        "scenario": found,
        "ready": ready.told,
        "revision": revision,
        "picture": drawn,
        "run": run,
        "policy": selectors.ready_policy(ready),
    }
    if run is not None and run.ended_at is not None:
        outcome = selectors.outcome(run)
        context["answer"] = _decision(run, ready.pod, drawn) if ready.pod else None
        context["placed"] = ready.pod_name if any(node.state == "chosen" for node in drawn.nodes) else ""
        context["sentence"] = measures.sentence(run, outcome)
    return render(request, "playground/runs/explained.html", context)


def _decision(run: Run, pod: str, drawn: Picture) -> Any:
    """One sentence about the decision on ``pod``; the verdict on each node is put into ``drawn``."""
    outcome = selectors.outcome(run)
    if pod not in outcome.index:
        return None
    attempts = int(outcome.attempts[outcome.index[pod]])
    try:
        case, tried = selectors.decided(run, pod, attempts)
    except (ApplicationError, NotNow):
        return None
    shown = presented(case)
    _judge(drawn, shown, tried)
    return shown.answer()


def _judge(drawn: Picture, shown: Presentation, tried: Decided) -> None:
    found = shown.explanation
    totals = dict(zip(found.feasible.tolist(), found.total.tolist(), strict=False))
    for node in drawn.nodes:
        position = found.nodes.index(node.name)
        if (verdict := found.verdict_at(position)) is not None:
            node.state, node.said = "rejected", f"{verdict.plugin}: {', '.join(verdict.reasons)}"
            node.reading = "; ".join(filter(None, map(reading, verdict.reasons)))
            continue
        node.state = "chosen" if node.name == tried.placement.node else "fits"
        node.said = (
            gettext("%(done)s of %(total)s") % {"done": totals[position], "total": shown.ceiling}
            if len(totals) > 1
            else gettext("the only node that can run it")
        )
