"""Start, cancel, resume and delete sweeps, and save a trial as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID, uuid4

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.actors.queues.setting_paths import is_setting_path
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.search.space import Space, read_space
from kschedweb.jobs.models import ENDED
from kschedweb.jobs.services import job_cancel, job_start
from kschedweb.playground.runs.services import LARGEST_SEED, seeds_checked
from kschedweb.playground.scenarios.selectors import cluster_version, list_queue_settings
from kschedweb.playground.sweeps import selectors
from kschedweb.playground.sweeps.models import Method, Origin, Sweep, Trial, TrialState
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.services import policy_create, revision_save
from kschedweb.policies.validation import release_of_record
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem, NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision

# Each request to the sampler reads all trials again, so their number is limited.
MOST_TRIALS = 2000
MOST_OBJECTIVES = 4
# A worker keeps a prepared scenario in memory for each seed.
MOST_SEEDS = 3
# Values of each dimension that are tried one at a time.
MOST_ALONE = 5
DIRECTIONS = ("lower", "higher")


@transaction.atomic
def sweep_start(
    *,
    user: User | None,
    revision: ScenarioRevision,
    policy: str,
    space: Any,
    objectives: Sequence[dict[str, str]],
    method: str = Method.TPE,
    trials: int = 100,
    seeds: Sequence[int] = (1,),
    seed: int = 1,
    title: str = "",
    id: UUID | None = None,
) -> Sweep:
    """Start a search for better weights and arguments of ``policy`` ("name" or "name@revision") on a scenario.

    ``space`` is a list of dimensions for engine.studies.search.space, ``objectives`` a list of measures with
    directions. ``trials`` limits a search, which begins with the base policy and one-at-a-time trials; a grid
    ignores it. ``id`` is for an example of the site. Raises ApplicationError with the paths of all problems.
    """
    base = _get_base(policy)
    process = process_of_run(base, cluster_version(revision))
    search_space = _parse_space(space, base, process, revision)
    sweep = Sweep(
        id=id or uuid4(),
        title=title.strip()[:200] or f"{revision.scenario.name}: {base.policy.name} with other weights",
        revision=revision,
        policy=base,
        label=f"{base.policy.name}@{base.number}",
        configuration=base.document,
        process=process,
        space=[dimension.to_dict() for dimension in search_space.dimensions],
        objectives=_check_objectives(objectives),
        method=_check_method(method, len(objectives)),
        seeds=seeds_checked(seeds, MOST_SEEDS),
        seed=_search_seed(seed),
        created_by=user,
    )
    points = _first_points(search_space, sweep.method, trials)
    # The trials of a search are created as workers ask for them; only the first ones exist from the beginning.
    sweep.planned = len(points) if sweep.method == Method.GRID else trials
    sweep.save()
    Trial.objects.bulk_create(
        Trial(sweep=sweep, number=number, origin=origin, point=list(point))
        for number, (origin, point) in enumerate(points)
    )
    _send_out(sweep, user)
    audit.record(user, "sweep.started", sweep, sweep.title, trials=sweep.planned)
    return sweep


def _get_base(policy: str) -> Revision:
    try:
        return revision_named(policy, "policy")
    except (Http404, NotFound):
        raise ApplicationError.at("policy", f"There is no policy {policy[:120]}.") from None


def _parse_space(raw: Any, base: Revision, process: Json, revision: ScenarioRevision) -> Space:
    paths = [entry.get("path") for entry in raw if isinstance(entry, dict)] if isinstance(raw, list) else []
    varies_quotas = any(isinstance(path, str) and is_setting_path(path) for path in paths)
    settings = list_queue_settings(revision) if varies_quotas else {}
    try:
        return read_space(raw, parse_document(base.document).data or {}, release_of_record(process), settings)
    except ScenarioError as error:
        problems = [cast("FieldProblem", {"path": problem.path, "message": problem.text}) for problem in error.problems]
        raise ApplicationError(f"The space cannot be searched: {error.problems[0]}.", errors=problems) from None


def _check_objectives(requested: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the objectives with their directions; raise ApplicationError for unknown or repeated ones."""
    if not 1 <= len(requested) <= MOST_OBJECTIVES:
        raise ApplicationError.at("objectives", f"Choose from 1 to {MOST_OBJECTIVES} objectives.")
    checked: list[dict[str, str]] = []
    for place, entry in enumerate(requested):
        name, direction = str(entry.get("measure", "")), str(entry.get("direction") or "")
        usual = selectors.get_objective(name)
        if usual is None:
            raise ApplicationError.at(f"objectives[{place}].measure", f"There is no measure {name[:120]!r}.")
        if name in {other["measure"] for other in checked}:
            raise ApplicationError.at(f"objectives[{place}].measure", f"{usual.label} is listed twice.")
        direction = direction or usual.direction
        if direction not in DIRECTIONS:
            raise ApplicationError.at(
                f"objectives[{place}].direction", f"Say whether {usual.label} should be lower or higher."
            )
        checked.append({"measure": name, "direction": direction})
    return checked


def _check_method(method: str, objectives: int) -> str:
    """Return ``method``; raise ApplicationError if it does not exist, or needs more objectives."""
    if method not in Method.values:
        raise ApplicationError.at(
            "method", f"There is no method {method[:40]!r}; known are {', '.join(Method.values)}."
        )
    if method == Method.NSGA2 and objectives < 2:
        raise ApplicationError.at(
            "method", "NSGA-II looks for a front of several objectives: choose a second one, or TPE."
        )
    return method


def _search_seed(seed: int) -> int:
    # The sampler adds the number of trials to the seed.
    if not 0 <= seed <= LARGEST_SEED - MOST_TRIALS:
        raise ApplicationError.at("seed", "Enter a whole number, 0 or more.")
    return seed


def _first_points(space: Space, method: str, trials: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the first trials with their origins; for a grid, all of them."""
    alone = space.vary_one_dimension(MOST_ALONE)
    points: list[tuple[str, tuple[Any, ...]]] = [(Origin.BASE, space.base_point)]
    if method != Method.GRID:
        if not 2 <= trials <= MOST_TRIALS:
            raise ApplicationError.at("trials", f"A search has from 2 to {MOST_TRIALS:,} trials.")
        # A third at most, so that two thirds of the trials remain for the sampler.
        return points + [(Origin.ALONE, point) for point in alone[: trials // 3]]
    if space.size > MOST_TRIALS:
        message = (
            f"The grid has {space.size:,} points, but {MOST_TRIALS:,} is the most: vary less, or let Optuna search."
        )
        raise ApplicationError.at("space", message)
    listed = [*((Origin.ALONE, point) for point in alone), *((Origin.SEARCH, point) for point in space.iterate_grid())]
    # A one-at-a-time point may lie on the grid too, and keeps the origin that the curves are drawn from.
    unique_points = {space.base_point}
    for origin, point in listed:
        if point not in unique_points:
            unique_points.add(point)
            points.append((origin, point))
    return points


def _send_out(sweep: Sweep, user: User | None) -> None:
    params, private = {"sweep": str(sweep.pk)}, sweep.revision.scenario.private
    sweep.job = job_start("sweeps.run", title=f"Sweep: {sweep.title}", params=params, user=user, private=private)
    sweep.save(update_fields=["job"])


def sweep_cancel(*, user: User | None, sweep: Sweep) -> None:
    """Cancel the sweep; running trials are given up. Raises Conflict if it has ended."""
    if sweep.job is None:
        raise Conflict(gettext("The sweep has ended."))
    job_cancel(job=sweep.job, user=user)


@transaction.atomic
def sweep_resume(*, user: User | None, sweep: Sweep) -> Sweep:
    """Continue with the trials that are not done; failed ones are tried again. Raises Conflict if nothing is left to
    do."""
    if sweep.job is not None and sweep.job.state not in ENDED:
        raise Conflict(gettext("The sweep is still running: there is nothing to resume."))
    failed = sweep.trials.filter(state=TrialState.FAILED)
    failed.update(state=TrialState.WAITING, attempt=0, error="", ended_at=None, claimed_until=None)
    if sweep.trials.filter(state=TrialState.FINISHED).count() >= sweep.planned:
        raise Conflict(gettext("Every trial is done: there is nothing to resume."))
    _send_out(sweep, user)
    audit.record(user, "sweep.resumed", sweep, sweep.title)
    return sweep


@transaction.atomic
def sweep_delete(*, user: User | None, sweep: Sweep) -> None:
    """Delete a sweep with its trials. Raises Conflict while it runs."""
    if sweep.job is not None and sweep.job.state not in ENDED:
        raise Conflict(gettext("The sweep is still running: cancel it first."))
    audit.record(user, "sweep.deleted", sweep, sweep.title)
    sweep.delete()


@transaction.atomic
def sweep_policy_save(*, user: User, sweep: Sweep, number: int, name: str, address: str = "") -> Revision:
    """Save trial ``number`` as a new revision of policy ``name``, or as a new policy of that name.

    A new revision is possible only for the base policy, and only if it has not changed since the sweep began;
    otherwise PreconditionFailed is raised. The comment contains the ``address`` of the sweep.
    """
    trial = sweep.trials.filter(number=number).first()
    if trial is None:
        raise NotFound(f"The sweep has no trial {number}.")
    space = selectors.load_space(sweep)
    if all(dimension.is_setting for dimension in space.dimensions):
        raise ApplicationError.at(
            "name", "The sweep varied quotas alone, which are no part of a policy: change them in the scenario."
        )
    # The comments of the base policy's YAML survive.
    document = rewrite_yaml(sweep.configuration, space.document_at(trial.point))
    comment = _policy_comment(sweep, space, trial, address)
    policy = Policy.objects.filter(name=name).first()
    if policy is None:
        process = sweep.policy.process if sweep.policy else sweep.process
        policy = policy_create(name=name, document=document, process=process, author=user, comment=comment)
        return policy.revisions.get(number=1)
    if sweep.policy is None or sweep.policy.policy_id != policy.pk:
        raise ApplicationError.at(
            "name", f"There is a policy {name} that the sweep did not begin with: choose another name."
        )
    return revision_save(policy=policy, document=document, author=user, expected=sweep.policy.number, comment=comment)


def _policy_comment(sweep: Sweep, space: Space, trial: Trial, address: str) -> str:
    changes = [
        f"{dimension.label} {value}"
        for dimension, value, before in zip(space.dimensions, trial.point, space.base_point, strict=True)
        if value != before
    ]
    summary = f"Trial {trial.number} of the sweep “{sweep.title}”: {', '.join(changes) or 'as the base policy'}"
    # A comment has at most 500 characters, and the address must not be cut.
    return f"{summary[: 490 - len(address)]}. {address}".strip()
