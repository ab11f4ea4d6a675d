"""Reads runs and comparisons with their outcomes; decoded outcomes are cached."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Count, Prefetch, Q
from django.http import Http404

from kschedweb.decisions.case import Case
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases import load
from kschedweb.engine.studies.play.deciding import Decided, decide
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.rewind import Rewinds
from kschedweb.jobs.models import ENDED
from kschedweb.playground.runs.models import Comparison, Difference, Run
from kschedweb.playground.scenarios.models import ScenarioRevision, readable
from kschedweb.playground.scenarios.selectors import newest_revisions, prepared, revision_get, scenario_get
from kschedweb.policies.models import Revision
from kschedweb.policies.validation import release_of_record
from kschedweb.web.errors import Conflict, NotFound, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.engine.config import Configuration
    from kschedweb.playground.scenarios.ready import Ready

MOST_CHOICES = 200
_outcomes: LRU[Outcome] = LRU(16)
_differences: LRU[list[dict[str, Any]]] = LRU(16)  # by run id, which is never used again
_rewinds: LRU[Rewinds] = LRU(4)  # 30 MB each where 8,000 pods come to 1,500 nodes
_decisions: LRU[tuple[Case, Decided]] = LRU(16)
LARGE = ("outcome", "configuration", "groups", "revision__text")


def run_list(user: User) -> QuerySet[Run]:
    """The runs that ``user`` may see, newest first, without large fields."""
    related = ("revision__scenario", "policy__policy", "job", "created_by", "comparison")
    return Run.objects.filter(readable(user, "revision__scenario")).select_related(*related).defer(*LARGE)


def run_get(user: User, run_id: UUID | str) -> Run:
    found = run_list(user).filter(pk=run_id).first()
    if found is None:
        raise Http404("There is no such run, or its scenario is not shared with you.")
    return found


def ready_run(ready: Ready, revision: ScenarioRevision) -> Run | None:
    """The site's own run of a ready scenario; ``None`` if there is none yet."""
    own = Run.objects.filter(revision=revision, configuration=ready.configuration, comparison=None, created_by=None)
    return own.select_related("revision__scenario", "policy__policy", "job").defer("outcome", "groups").first()


def ready_policy(ready: Ready) -> Revision | None:
    """The saved policy of a ready scenario; ``None`` if it was deleted."""
    kept = Revision.objects.select_related("policy").filter(policy__name=ready.policy, document=ready.configuration)
    return kept.order_by("-number").first()


def comparison_list(user: User) -> QuerySet[Comparison]:
    """The comparisons that ``user`` may see, newest first; ``ended`` of ``total`` runs are done."""
    runs = Run.objects.select_related("job").defer(*LARGE[:3]).order_by("position", "seed")
    return (
        Comparison.objects.filter(readable(user, "revision__scenario"))
        .select_related("revision__scenario", "created_by")
        .defer("revision__text")
        .annotate(total=Count("runs"), ended=Count("runs", filter=Q(runs__ended_at__isnull=False)))
        .prefetch_related(Prefetch("runs", runs))
        .order_by("-created_at", "-id")
    )


def comparison_get(user: User, comparison_id: UUID | str) -> Comparison:
    found = comparison_list(user).filter(pk=comparison_id).first()
    if found is None:
        raise Http404("There is no such comparison, or its scenario is not shared with you.")
    return found


def finished(run: Run) -> bool:
    """Whether the run is done, or its job ended otherwise."""
    return run.ended_at is not None or run.job is None or run.job.state in ENDED


def outcome(run: Run) -> Outcome:
    """The outcome of a run. Raises Conflict if it is not done."""
    if run.ended_at is None:
        raise Conflict("The run is not done yet.")

    def read() -> Outcome:
        return Outcome.decode(bytes(Run.objects.values_list("outcome", flat=True).get(pk=run.pk) or b""))

    return _outcomes.get((run.pk, run.ended_at), read)


def compared(found: Difference) -> bool:
    """Whether the difference is done, or its job ended otherwise."""
    return bool(found.counts) or found.job is None or found.job.state in ENDED


def difference_list(comparison: Comparison) -> QuerySet[Difference]:
    """The differences of runs from their references, without large fields."""
    found = Difference.objects.filter(run__comparison=comparison).select_related("job", "run", "against")
    return found.defer(
        "content", "run__outcome", "run__configuration", "run__groups", *(f"against__{name}" for name in LARGE[:3])
    )


def difference(found: Difference) -> list[dict[str, Any]]:
    """The changed pods: pod, what, before, after, plugin, lead. Raises Conflict if it is not done."""
    content = Difference.objects.values_list("content", flat=True).get(pk=found.pk)
    if content is None:
        raise Conflict("How the two runs differ is not worked out yet.")

    def read() -> list[dict[str, Any]]:
        decoded: list[dict[str, Any]] = json.loads(gzip.decompress(bytes(content)))
        return decoded

    return _differences.get(found.run_id, read)


def revision_choices(user: User) -> list[ScenarioRevision]:
    """The newest revision of each scenario that ``user`` may read, by name; at most MOST_CHOICES."""
    rows = newest_revisions().filter(readable(user, "scenario"))
    return list(rows.defer("text").order_by("scenario__name", "pk")[:MOST_CHOICES])


def revision_asked(user: User, scenario: str, number: str = "") -> ScenarioRevision:
    """Revision ``number`` ("": the newest) of the scenario with id ``scenario``. Raises Http404."""
    try:
        found = scenario_get(user, UUID(scenario))
    except ValueError:
        raise Http404("There is no such scenario.") from None
    if number and not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise Http404(f"{number[:40]!r} is not the number of a revision.")
    return revision_get(found, int(number) if number else None)


def configuration(run: Run) -> Configuration:
    """The configuration that was run. Raises Unprocessable if this engine no longer accepts it."""
    loaded = load(run.configuration, release_of_record(run.process))
    if loaded.configuration is None:
        raise Unprocessable(f"This engine does not take the policy {run.label}: {'; '.join(loaded.errors[:3])}")
    return loaded.configuration


def decided(run: Run, pod: str, attempt: int) -> tuple[Case, Decided]:
    """Compute the decision at try ``attempt`` (from 1) of ``pod`` again. Raises NotFound or Unprocessable."""

    def work_out() -> tuple[Case, Decided]:
        try:
            known, config, scenario = outcome(run), configuration(run), prepared(run.revision, run.seed)
            rewinds = _rewinds.get((run.pk, run.ended_at), lambda: Rewinds(scenario, config, known))
            found = decide(scenario, config, pod, attempt, outcome=known, rewinds=rewinds)
        except LookupError as error:
            raise NotFound(f"{error}.") from None
        except CycleError as error:
            raise Unprocessable(f"The scheduling cycle of {pod} fails: {error}") from None
        return Case(found.snapshot, found.pod, found.scheduler, found.explanation, ""), found

    return _decisions.get((run.pk, pod, attempt), work_out)


def forget() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    _outcomes.clear()
    _differences.clear()
    _rewinds.clear()
    _decisions.clear()
