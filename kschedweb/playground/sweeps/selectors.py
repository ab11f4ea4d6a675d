"""Reads sweeps and their trials."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Count, Q
from django.http import Http404

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.objectives import find_objective, list_objectives
from kschedweb.engine.studies.measure.spec import BY_RESOURCE, MeasureSpec
from kschedweb.engine.studies.search.space import Space, read_space
from kschedweb.jobs.models import ENDED
from kschedweb.playground.scenarios.models import readable_by
from kschedweb.playground.sweeps.models import Sweep, Trial, TrialState
from kschedweb.policies.validation import release_of_record
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
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
    return read_space(sweep.space, parse_document(sweep.configuration).data or {}, release_of_record(sweep.process))


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


def objective_choices(revision: ScenarioRevision | None) -> list[MeasureSpec]:
    """Return the objectives to choose from, with those of extended resources and of optional parts of the document."""
    resources, document = [CPU, MEMORY], {} if revision is None else revision.document
    resources += [name for name in _extended_resources(document) if name not in resources]
    # Without a scenario all parts are offered, since the choice is made later.
    return list_objectives({BY_RESOURCE.name: resources}, None if revision is None else document)


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
