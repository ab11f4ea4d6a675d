"""A plan as a scenario: the snapshot with the plan's evictions in waves, so that a run shows where pods land."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.advice.plans.models import Trial
from kschedweb.engine.json_types import Json
from kschedweb.playground.runs.services import run_start
from kschedweb.playground.scenarios.from_snapshot import scenario_on
from kschedweb.playground.scenarios.selectors import revision_get
from kschedweb.web.errors import Conflict, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.advice.plans.models import Question
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.scenarios.models import Scenario

# Seconds: until the first wave, and from the end of one wave to the next.
FIRST_WAVE_AT, WAVE_PAUSE = 10.0, 120.0
# Seconds from one eviction to the next, so that the replacement of one pod has its node before the next leaves.
EVICTION_INTERVAL = 0.01


@transaction.atomic
def plan_try(*, question: Question, user: User) -> Run:
    """Make a scenario of the plan and run it under the plan's policy.

    Raises Conflict if there is no plan yet, or no move in it, and Unprocessable if its snapshot or policy is gone.
    """
    answer = question.read_answer()
    if answer is None or not answer["waves"]:
        raise Conflict("There is nothing to try: the plan moves no pod.")
    if question.snapshot is None or question.revision is None:
        raise Unprocessable("The snapshot or the policy of the plan was deleted in the meantime.")
    scenario = _create_scenario(question, answer, user)
    Trial.objects.create(question=question, scenario=scenario)
    audit.record(user, "plan.tried", question, scenario.name)
    label = f"{question.revision.policy.name}@{question.revision.number}"
    return run_start(user=user, revision=revision_get(scenario), policy=label)


def _create_scenario(question: Question, answer: Json, user: User) -> Scenario:
    assert question.snapshot is not None
    cluster = question.snapshot.cluster.name
    parts = {"changes": build_changes(answer), "run": {"place": "arrivals"}}
    return scenario_on(
        question.snapshot, name=f"Plan for {cluster}", description=answer["answer"], parts=parts, author=user
    )


def build_changes(answer: Json) -> list[Json]:
    """Return the changes: nodes are cordoned, then pods are evicted wave by wave, with a pause after each wave."""
    listed: list[Json] = [{"cordonNodes": {"nodes": answer["cordons"]}}] if answer["cordons"] else []
    at = FIRST_WAVE_AT
    for wave in answer["waves"]:
        listed.append({"at": at, "evictPods": {"pods": [move["pod"] for move in wave], "every": EVICTION_INTERVAL}})
        at = round(at + len(wave) * EVICTION_INTERVAL + WAVE_PAUSE, 2)
    return listed + ([{"at": at, "uncordonNodes": {"nodes": answer["uncordons"]}}] if answer["uncordons"] else [])
