"""Reads sweeps and their trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Count, Q
from django.http import Http404

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.actors.queues.measures import BY_QUEUE
from kschedweb.engine.studies.actors.queues.setting_paths import is_setting_path, parse_setting_path
from kschedweb.engine.studies.measure.objectives import find_objective, list_objectives
from kschedweb.engine.studies.measure.spec import BY_RESOURCE, MeasureSpec
from kschedweb.engine.studies.search.space import NO_SETTINGS, Space, read_space
from kschedweb.jobs.models import ENDED
from kschedweb.playground.scenarios.models import readable_by
from kschedweb.playground.scenarios.selectors import at_hand, list_queue_settings
from kschedweb.playground.sweeps.models import Sweep, Trial, TrialState
from kschedweb.policies.validation import release_of_record
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision

# Reading a space validates the policy's document, and every page of a sweep needs it.
_spaces: LRU[Space] = LRU(16)
# Characters that the name of a resource or queue may have in a posted measure.
LONGEST_MEMBER = 63


def sweep_list(user: User) -> QuerySet[Sweep]:
    """Return the sweeps whose scenario ``user`` may read, newest first; ``done``, ``failed`` and ``running`` count
    trials."""
    rows = Sweep.objects.select_related("revision__scenario", "policy__policy", "job", "created_by")
    rows = rows.filter(readable_by(user, "revision__scenario"))
    # The documents are large, and no list shows them.
    return rows.defer("revision__text", "policy__document").annotate(
        done=Count("trials", filter=Q(trials__state=TrialState.FINISHED)),
        failed=Count("trials", filter=Q(trials__state=TrialState.FAILED)),
        running=Count("trials", filter=Q(trials__state=TrialState.RUNNING)),
    ).order_by("-created_at", "-id")  # fmt: skip


def sweep_get(user: User, sweep_id: UUID | str) -> Sweep:
    sweep = sweep_list(user).filter(pk=sweep_id).first()
    if sweep is None:
        raise Http404("There is no such sweep, or its scenario is not shared with you.")
    return sweep


def is_finished(sweep: Sweep) -> bool:
    """Return whether the sweep has ended; it may be resumed."""
    return sweep.job is None or sweep.job.state in ENDED


def trial_list(sweep: Sweep) -> QuerySet[Trial]:
    """Return the trials by number, without their large fields."""
    return Trial.objects.filter(sweep=sweep).defer("places", "notes").order_by("number")


def load_space(sweep: Sweep) -> Space:
    """Return the space of the sweep, which never changes and is cached."""
    return _spaces.get(sweep.pk, lambda: _read_space(sweep))


def _read_space(sweep: Sweep) -> Space:
    # The first trial's point has the scenario's own settings.
    first = sweep.trials.filter(number=0).values_list("point", flat=True).first() or ()
    paths = [str(dimension["path"]) for dimension in sweep.space]
    settings = {path: value for path, value in zip(paths, first, strict=False) if is_setting_path(path)}
    document = parse_document(sweep.configuration).data or {}
    return read_space(sweep.space, document, release_of_record(sweep.process), settings)


def list_settings(revision: ScenarioRevision | None) -> dict[str, Any]:
    """Return the settings of the scenario's quota queues that a sweep may vary; none of a large cluster."""
    return list_queue_settings(revision) if revision is not None and at_hand(revision, seed=1) else {}


def objective_means(sweep: Sweep, trial: Trial) -> list[float] | None:
    """Return the objectives' means over the seeds; ``None`` if an objective has no value."""
    means = []
    for objective in sweep.objectives:
        known_values = [value for value in trial.values.get(objective["measure"], ()) if value is not None]
        if not known_values:
            return None
        means.append(sum(known_values) / len(known_values))
    return means


def get_objective(name: str) -> MeasureSpec | None:
    """Return the objective ``name`` of any member; ``None`` if no objective has that name."""
    spec = find_objective(name)
    return spec if spec is not None and len(spec.member) <= LONGEST_MEMBER else None


def objective_choices(
    revision: ScenarioRevision | None, settings: Mapping[str, Any] = NO_SETTINGS
) -> list[MeasureSpec]:
    """Return the objectives to choose from, with those of extended resources and of optional parts of the document.

    ``settings`` are those of the scenario's quota queues.
    """
    document = {} if revision is None else revision.document
    paths = [parse_setting_path(path) for path in settings]
    resources = (CPU, MEMORY, *_extended_resources(document), *(path.resource for path in paths if path.resource))
    # Queues, not cohorts: only these have a strategy.
    queues = [path.queue for path in paths if path.field == "queueingStrategy"]
    # Without a scenario all parts are offered, since the choice is made later.
    return list_objectives(
        {BY_RESOURCE.name: list(dict.fromkeys(resources)), BY_QUEUE.name: queues},
        None if revision is None else document,
    )


def _extended_resources(document: Json) -> list[str]:
    """Return the extended resources of nodes in the document."""
    names = dict.fromkeys(
        name
        for raw in document.get("objects") or ()
        if isinstance(raw, dict) and raw.get("kind") == "Node"
        for name in ((raw.get("status") or {}).get("allocatable") or {})
        if "/" in name
    )
    texts = str(document.get("arrivals") or "") + str(document.get("changes") or "")
    # Nodes of the openb format come from a file, so the document does not show their GPUs.
    if "openb" in texts:
        names["nvidia.com/gpu"] = None
    return list(names)


def clear_caches() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    _spaces.clear()
