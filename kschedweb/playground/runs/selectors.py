"""Read runs and comparisons with their outcomes; decoded outcomes are cached."""

from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
from django.db.models import Count, Prefetch, Q
from django.http import Http404

from kschedweb.decisions.case import AnyCase, case_of
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.studies.actors.autoscaler.setup import with_node_pools
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.play.explained_tries import ExplainedTry, explain_try
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.rewind import Rewinds, can_rewind
from kschedweb.engine.studies.prepare.prepared import with_actor
from kschedweb.jobs.inquiries import deadline_step
from kschedweb.jobs.models import ENDED
from kschedweb.playground.runs.models import Comparison, Difference, Run
from kschedweb.playground.runs.run_policies import RunPolicy, descheduler_of, kept_of
from kschedweb.playground.scenarios.models import ScenarioRevision, readable_by
from kschedweb.playground.scenarios.selectors import (
    newest_revisions,
    prepare_revision,
    revision_get,
    scenario_get,
    with_queue_settings,
)
from kschedweb.playground.scenarios.validation import check_scenario
from kschedweb.policies.karpenter.selectors import karpenter_read
from kschedweb.policies.models import Revision
from kschedweb.policies.validation import release_of_record
from kschedweb.web.errors import Conflict, NotFound, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.studies.prepare.prepared import PreparedScenario
    from kschedweb.jobs.inquiries import Step
    from kschedweb.playground.scenarios.ready import Ready

# Scenarios in a select; others are reached from their own page.
MOST_CHOICES = 200
REPLAYED = "Playing the run again: moves of pods"
# Seconds that a person waits without a sign; a longer replay is a job that shows its progress.
PATIENCE = 1.0
_outcomes: LRU[RunOutcome] = LRU(16)
# By the id of the run, which is never used again.
_differences: LRU[list[Json]] = LRU(16)
# 30 MB each if 8,000 pods come to 1,500 nodes.
_rewinds: LRU[Rewinds] = LRU(4)
_prepared_runs: LRU[PreparedScenario] = LRU(4)
_decisions: LRU[tuple[AnyCase, ExplainedTry]] = LRU(16)
# Columns that lists do not load.
LARGE = ("outcome", "configuration", "groups", "revision__text")


def run_list(user: User) -> QuerySet[Run]:
    """Return the runs that ``user`` may see, newest first, without large fields."""
    related = ("revision__scenario", "policy__policy", "job", "created_by", "comparison")
    return Run.objects.filter(readable_by(user, "revision__scenario")).select_related(*related).defer(*LARGE)


def run_get(user: User, run_id: UUID | str) -> Run:
    run = run_list(user).filter(pk=run_id).first()
    if run is None:
        raise Http404("There is no such run, or its scenario is not shared with you.")
    return run


def ready_run(ready: Ready, revision: ScenarioRevision) -> Run | None:
    """Return the site's own run of a ready scenario; ``None`` if there is none yet."""
    runs = Run.objects.filter(revision=revision, configuration=ready.configuration, comparison=None, created_by=None)
    return runs.select_related("revision__scenario", "policy__policy", "job").defer("outcome", "groups").first()


def ready_policy(ready: Ready) -> Revision | None:
    """Return the saved policy of a ready scenario; ``None`` if it was deleted."""
    revisions = Revision.objects.select_related("policy").filter(
        policy__name=ready.policy, document=ready.configuration
    )
    return revisions.order_by("-number").first()


def comparison_list(user: User) -> QuerySet[Comparison]:
    """Return the comparisons that ``user`` may see, newest first; ``ended`` of ``total`` runs are done."""
    runs = Run.objects.select_related("job").defer(*LARGE[:3]).order_by("position", "seed")
    return (
        Comparison.objects.filter(readable_by(user, "revision__scenario"))
        .select_related("revision__scenario", "created_by")
        .defer("revision__text")
        .annotate(total=Count("runs"), ended=Count("runs", filter=Q(runs__ended_at__isnull=False)))
        .prefetch_related(Prefetch("runs", runs))
        .order_by("-created_at", "-id")
    )


def comparison_get(user: User, comparison_id: UUID | str) -> Comparison:
    comparison = comparison_list(user).filter(pk=comparison_id).first()
    if comparison is None:
        raise Http404("There is no such comparison, or its scenario is not shared with you.")
    return comparison


def kept_with(user: User, like: UUID | str) -> dict[str, RunPolicy]:
    """Return the policies of the run or comparison ``like`` by label; raise Http404 if there is none."""
    try:
        key = UUID(str(like))
    except ValueError:
        raise Http404("There is no such run or comparison.") from None
    # Ids are random, so one cannot be that of a run and of a comparison.
    runs = Run.objects.filter(Q(pk=key) | Q(comparison=key), readable_by(user, "revision__scenario"))
    return kept_of(runs.select_related("policy__policy").defer("outcome", "groups"))


def is_finished(run: Run) -> bool:
    """Return whether the run is done, or its job ended otherwise."""
    return run.ended_at is not None or run.job is None or run.job.state in ENDED


def load_outcome(run: Run) -> RunOutcome:
    """Return the outcome of a run. Raise Conflict if the run is not done."""
    if run.ended_at is None:
        raise Conflict("The run is not done yet.")

    def decode() -> RunOutcome:
        return RunOutcome.decode(bytes(Run.objects.values_list("outcome", flat=True).get(pk=run.pk) or b""))

    # The time of its end is part of the key, because ready runs are played again under the same id.
    return _outcomes.get((run.pk, run.ended_at), decode)


def is_compared(difference: Difference) -> bool:
    """Return whether the difference is done, or its job ended otherwise."""
    return bool(difference.counts) or difference.job is None or difference.job.state in ENDED


def difference_list(comparison: Comparison) -> QuerySet[Difference]:
    """Return the differences of runs from their references, without large fields."""
    differences = Difference.objects.filter(run__comparison=comparison).select_related("job", "run", "against")
    return differences.defer(
        "content", "run__outcome", "run__configuration", "run__groups", *(f"against__{name}" for name in LARGE[:3])
    )


def load_difference(difference: Difference) -> list[Json]:
    """Return the changed pods: pod, what, before, after, plugin, lead. Raise Conflict if the comparison is not done."""
    content = Difference.objects.values_list("content", flat=True).get(pk=difference.pk)
    if content is None:
        raise Conflict("The comparison of the two runs is not ready yet.")

    def decode() -> list[Json]:
        decoded: list[Json] = json.loads(gzip.decompress(bytes(content)))
        return decoded

    return _differences.get(difference.run_id, decode)


def revision_choices(user: User) -> list[ScenarioRevision]:
    """Return the newest revision of each scenario that ``user`` may read, by name; at most MOST_CHOICES."""
    rows = newest_revisions().filter(readable_by(user, "scenario"))
    return list(rows.defer("text").order_by("scenario__name", "pk")[:MOST_CHOICES])


def revision_asked(user: User, scenario: str, number: str = "") -> ScenarioRevision:
    """Return revision ``number`` ("": the newest) of the scenario with id ``scenario``. Raise Http404 if there is
    none."""
    try:
        scenario_row = scenario_get(user, UUID(scenario))
    except ValueError:
        raise Http404("There is no such scenario.") from None
    if number and not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise Http404(f"{number[:40]!r} is not the number of a revision.")
    return revision_get(scenario_row, int(number) if number else None)


def load_configuration(run: Run) -> Configuration:
    """Return the configuration that was run. Raise Unprocessable if this engine no longer accepts it."""
    loaded = load(run.configuration, release_of_record(run.process))
    if loaded.configuration is None:
        raise Unprocessable(f"This version does not accept the policy {run.label}: {'; '.join(loaded.errors[:3])}")
    return loaded.configuration


def prepare_run(run: Run) -> PreparedScenario:
    """Return the scenario of a run as the engine plays it, with the run's own autoscaler, descheduler and quotas.

    Raises Unprocessable.
    """
    scenario = prepare_revision(run.revision, run.seed)
    if not run.autoscaler and run.descheduler is None and not run.queues:
        return scenario
    overrides = run.autoscaler, json.dumps(run.descheduler), json.dumps(run.queues)
    key = run.revision.scenario_id, run.revision.number, run.seed, *overrides
    return _prepared_runs.get(key, lambda: _with_own(scenario, run))


def _with_own(scenario: PreparedScenario, run: Run) -> PreparedScenario:
    """Return ``scenario`` with the run's autoscaler, descheduler and settings of quota queues instead of its own."""
    document = check_scenario(run.revision.text).document
    if run.queues:
        scenario = with_queue_settings(scenario, document, run.queues)
    if run.autoscaler:
        karpenter = karpenter_read(run.autoscaler)
        scenario = with_actor(
            scenario, "autoscaler", with_node_pools(document.actors.get("autoscaler") if document else None, karpenter)
        )
    if run.descheduler is None:
        return scenario
    try:
        return with_actor(scenario, "descheduler", descheduler_of(run.descheduler))
    except ScenarioError as refused:
        message = "; ".join(problem.text for problem in refused.problems[:3])
        raise Unprocessable(f"The descheduler would not start with {run.descheduler['name']}: {message}") from None


def replay_decision(run: Run, pod: str, attempt: int, step: Step | None = None) -> tuple[AnyCase, ExplainedTry]:
    """Compute the decision at try ``attempt`` (from 1) of ``pod`` again. Raise NotFound or Unprocessable.

    ``step`` gets the progress; without it, DeadlineExceeded is raised if that takes longer than a request may.
    """

    def work_out() -> tuple[AnyCase, ExplainedTry]:
        try:
            outcome, config, scenario = load_outcome(run), load_configuration(run), prepare_run(run)
            say, moves, last = step or deadline_step(PATIENCE), outcome.moves.time, _last_try(outcome, pod)
            whole = int(np.searchsorted(moves, last, side="right"))
            rewinds = _rewinds.get((run.pk, run.ended_at), lambda: Rewinds(scenario, config, outcome))
            decided = explain_try(
                scenario,
                config,
                pod,
                attempt,
                outcome=outcome,
                rewinds=rewinds,
                progress=lambda time: say(REPLAYED, int(np.searchsorted(moves, min(time, last), side="right")), whole),
            )
        except LookupError as error:
            raise NotFound(f"{error}.") from None
        except CycleError as error:
            raise Unprocessable(f"The scheduling cycle of {pod} fails: {error}") from None
        return case_of(decided.snapshot, decided.pod, decided.scheduler, decided.explanation), decided

    return _decisions.get((run.pk, pod, attempt), work_out)


def is_soon(run: Run, pod: str, attempt: int) -> bool:
    """Return whether a request may compute the decision: its try follows from the moves, or comes soon in a replay.

    The time of a replay is estimated from the time that the run took.
    """
    outcome = load_outcome(run)
    row = outcome.index.get(pod, -1)
    if (run.pk, pod, attempt) in _decisions.cached_keys() or row < 0 or not outcome.end:
        return True
    in_moves = attempt == outcome.attempts[row] and can_rewind(outcome, row)
    return in_moves or (run.seconds or 0.0) * _last_try(outcome, pod) / outcome.end <= PATIENCE


def _last_try(outcome: RunOutcome, pod: str) -> float:
    """Return when ``pod`` was tried last, in virtual seconds; the end of the run if that is unknown."""
    row = outcome.index.get(pod, -1)
    time = float(outcome.tries.time[row]) if 0 <= row < len(outcome.tries.time) else math.nan
    return outcome.end if math.isnan(time) else time


def clear_caches() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    _outcomes.clear()
    _differences.clear()
    _rewinds.clear()
    _prepared_runs.clear()
    _decisions.clear()
