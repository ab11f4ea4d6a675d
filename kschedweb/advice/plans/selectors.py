"""Read plans, the offer of the overview, and the results of trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import F

from kschedweb.advice.plans.models import Question, Trial
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.play.successors import last_node, latest_rows
from kschedweb.jobs import inquiries
from kschedweb.playground.runs.selectors import load_outcome, run_list
from kschedweb.playground.scenarios.selectors import scenario_list

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.scenarios.models import Scenario


def question_get(question_id: UUID | str) -> Question:
    """Return one question. Raise ``Http404`` if there is none."""
    return inquiries.question_seen(Question, question_id, "plan")


def offer_of(snapshot: Snapshot) -> Question | None:
    """Return the question that the site asked about ``snapshot`` by itself, under the present prices.

    Its ``offer`` is None while there is no answer, and if no node could go.
    """
    questions = Question.objects.defer("content").filter(snapshot=snapshot, offers=True).order_by("-created_at")
    return questions.exclude(snapshot__cluster__prices__changed_at__gt=F("created_at")).first()


@dataclass(frozen=True)
class PlanTrialResult:
    """The end of a run, compared with the plan."""

    run: Run
    # Moves of the plan.
    moves: int = 0
    # Pod, planned node, and the node where it is ("" for none).
    misplaced: tuple[tuple[str, str, str], ...] = ()
    has_ended: bool = False

    @property
    def as_planned(self) -> int:
        return self.moves - len(self.misplaced)


def list_trials(user: User, question: Question, answer: Json) -> list[tuple[Scenario, list[PlanTrialResult]]]:
    """Return the scenarios in which the plan is tried, as far as ``user`` may view them, with the results of runs."""
    scenario_ids = Trial.objects.filter(question=question).values_list("scenario", flat=True)
    runs = run_list(user).filter(revision__scenario__in=scenario_ids)
    return [
        (scenario, [compare_with_plan(run, answer) for run in runs if run.revision.scenario_id == scenario.pk])
        for scenario in scenario_list(user).filter(pk__in=scenario_ids)
    ]


def compare_with_plan(run: Run, answer: Json) -> PlanTrialResult:
    """Compare the end of a run with the plan: each evicted pod's replacement should be on the planned node."""
    if run.ended_at is None:
        return PlanTrialResult(run)
    run_outcome = load_outcome(run)
    last = latest_rows(run_outcome)
    moves = [move for wave in answer["waves"] for move in wave]
    ends = [(move, last_node(run_outcome, last[move["pod"]]) if move["pod"] in last else "") for move in moves]
    misplaced = tuple((move["pod"], move["to"], node) for move, node in ends if node != move["to"])
    return PlanTrialResult(run, len(moves), misplaced, has_ended=True)
