"""Start, play, cancel and delete runs and comparisons."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import SimulationError
from kschedweb.engine.studies.compare.comparison import compare_runs
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.run import run_scenario as simulate
from kschedweb.jobs.models import ENDED
from kschedweb.jobs.services import job_cancel, job_start
from kschedweb.live.approvals.models import WebhookEvent
from kschedweb.live.approvals.webhooks import services as webhooks
from kschedweb.live.approvals.webhooks.messages import WebhookMessage
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.comparisons import significance
from kschedweb.playground.runs.maps import nodes
from kschedweb.playground.runs.models import Comparison, Difference, Run
from kschedweb.playground.runs.run_policies import NOTHING, RunPolicy, check_accepted, check_queues, entry_named
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.dialects import PROFILES, check_either, process_of_text
from kschedweb.policies.files import with_files
from kschedweb.policies.validation import settle_release
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.links import build_link

if TYPE_CHECKING:
    from datetime import datetime

    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision

# A comparison has at most 80 runs. The largest seed is that of a positive integer column.
FEWEST_POLICIES, MOST_POLICIES, MOST_SEEDS, LARGEST_SEED = 2, 8, 10, 2**31 - 1
# Notes of a run that are stored.
MOST_NOTES = 200
Step = Callable[[str, int, int], None]


def seeds_checked(seeds: Sequence[int], limit: int = MOST_SEEDS) -> list[int]:
    """Return ``seeds`` without repetitions. Raise ApplicationError for more than ``limit`` seeds, or none."""
    listed = list(dict.fromkeys(seeds))
    if not 1 <= len(listed) <= limit or not all(0 <= seed <= LARGEST_SEED for seed in listed):
        raise ApplicationError.at("seeds", f"Enter from 1 to {limit} whole numbers, 0 or more.")
    return listed


@transaction.atomic
def run_start(
    *,
    user: User | None,
    revision: ScenarioRevision,
    policy: str = "",
    document: str = "",
    label: str = "",
    seed: int = 1,
    policies_by_label: Mapping[str, RunPolicy] = NOTHING,
) -> Run:
    """Start a run under a saved ``policy`` ("name", "name@revision"), or under an unsaved ``document``.

    ``policy`` may also be a label of ``policies_by_label``, the policies that are stored with other runs.
    """
    version = cluster_version(revision)
    if document:
        # The document would be stored with the run, where people who may read the scenario could see it.
        if check_either(document).secrets:
            raise ApplicationError.at("document", "The policy contains a private key or a token: leave it out.")
        process = process_of_text(document) or settle_release(
            PROFILES.process_on_version(with_files(document, {}), version)
        )
        checked = check_accepted(document, process, label or "The policy", "document")
        entry = RunPolicy(label or "not saved", checked, process, None)
    else:
        entry = entry_named(policy, "policy", policies_by_label, version=version)
        check_queues([entry], revision, "policy")
    run = _create_run(user, revision, entry, seeds_checked([seed])[0])
    audit.record(user, "run.started", run, f"{revision.scenario.name} under {entry.label}")
    return run


@transaction.atomic
def comparison_start(
    *,
    user: User | None,
    revision: ScenarioRevision,
    policies: Sequence[str | RunPolicy],
    seeds: Sequence[int],
    title: str = "",
    policies_by_label: Mapping[str, RunPolicy] = NOTHING,
    id: UUID | None = None,
) -> Comparison:
    """Start a run for each policy with each seed.

    A policy is "name", "name@revision", a label of ``policies_by_label`` (those that are stored with other runs), or a
    RunPolicy that is not saved. The first policy is the reference. If nothing in the scenario is random, only the first
    seed is run, because all others give the same run. ``id`` is for an example of the site.
    """
    version = cluster_version(revision)
    resolved = (
        entry_named(policy, "policies", policies_by_label, version=version) if isinstance(policy, str) else policy
        for policy in policies
    )
    entries = list({entry.label: entry for entry in resolved}.values())
    check_queues(entries, revision, "policies")
    if not FEWEST_POLICIES <= len(entries) <= MOST_POLICIES:
        raise ApplicationError.at("policies", f"Choose from {FEWEST_POLICIES} to {MOST_POLICIES} different policies.")
    listed = seeds_checked(seeds)
    if not significance.random_inputs(revision.document):
        listed = listed[:1]
    title = title.strip() or f"{revision.scenario.name}: {' and '.join(entry.label for entry in entries)}"
    comparison = Comparison.objects.create(id=id or uuid4(), title=title[:200], revision=revision, created_by=user)
    # Seed by seed, so that the first seed can be compared while the others wait.
    for seed in listed:
        for position, entry in enumerate(entries):
            _create_run(user, revision, entry, seed, comparison, position)
    audit.record(user, "comparison.started", comparison, comparison.title, runs=len(entries) * len(listed))
    return comparison


def _create_run(
    user: User | None,
    revision: ScenarioRevision,
    entry: RunPolicy,
    seed: int,
    comparison: Comparison | None = None,
    position: int = 0,
) -> Run:
    """Create a run with a job that plays it."""
    run = Run.objects.create(
        comparison=comparison,
        position=position,
        revision=revision,
        policy=entry.revision,
        label=entry.label,
        configuration=entry.document,
        process=dict(entry.process),
        autoscaler=entry.autoscaler,
        descheduler=entry.descheduler,
        queues=entry.queues,
        seed=seed,
        created_by=user,
    )
    title = f"Run: {revision.scenario.name} under {entry.label}, seed {seed}"
    private = revision.scenario.private
    run.job = job_start("runs.run", title=title, params={"run": str(run.pk)}, user=user, private=private)
    run.save(update_fields=["job"])
    return run


def run_do(*, run: Run, step: Step) -> Json:
    """Play the scenario and store the outcome, unless that is done already; report progress to ``step``."""
    if run.ended_at is None:
        _play_run(run, step)
    if run.comparison_id is not None:
        _differences_start(run)
    return {"run": str(run.pk)}


def _play_run(run: Run, step: Step) -> None:
    """Play the scenario, measure the outcome and store both."""
    begun = time.monotonic()
    step("Reading the scenario", 0, 0)
    prepared = selectors.prepare_run(run)

    def report_progress(now: float, decided: int, total: int) -> None:
        if decided < total:
            step("Pods decided:", decided, total)
        elif prepared.end is None:
            step("All pods decided, playing until nothing more happens", 0, 0)
        else:
            step("All pods decided, minutes played:", int(now / 60), int(prepared.end / 60))

    try:
        configuration = selectors.load_configuration(run)
        outcome = simulate(prepared, configuration, progress=report_progress)
    except SimulationError as error:
        raise Unprocessable(f"The scenario cannot be played: {error}.") from None
    step("Measuring", 0, 0)
    measures = compute_measures(outcome)
    now = timezone.now()
    values = dict(
        engine=configuration.release.engine,
        summary=[asdict(entry) for entry in measures],
        notes=outcome.list_notes(MOST_NOTES),
        outcome=outcome.encode(),
        groups=[grouping.to_dict() for grouping in nodes.build_groupings(prepared, outcome.nodes)],
        virtual_seconds=outcome.end,
        seconds=time.monotonic() - begun,
        ended_at=now,
    )
    with transaction.atomic():
        # Only one of two workers that played the run stores it, and tells it to webhooks.
        if Run.objects.filter(pk=run.pk, ended_at=None).update(**values):
            webhooks.announce_message(_run_message(run, now))


def _run_message(run: Run, now: datetime) -> WebhookMessage:
    """Return the message for webhooks about a run that is done."""
    data = {
        "id": str(run.pk),
        "scenario": str(run.revision.scenario_id),
        "name": run.revision.scenario.name,
        "policy": run.label,
        "seed": run.seed,
        "comparison": str(run.comparison_id or ""),
        "createdBy": run.created_by.username if run.created_by else "",
        "endedAt": now.isoformat(),
        "links": {"page": build_link(f"/runs/{run.pk}/"), "run": build_link(f"/api/v1/runs/{run.pk}/")},
    }
    return WebhookMessage(WebhookEvent.RUN, now, data, f"/scenarios/{run.revision.scenario_id}/", str(run.pk))


def _differences_start(run: Run) -> None:
    """Start the comparison of each pair of runs that ``run`` completes, once for each pair."""
    finished = Run.objects.filter(comparison=run.comparison_id, seed=run.seed, ended_at__isnull=False)
    reference = finished.filter(position=0).only("pk").first()
    if reference is None:
        return
    for other in finished.filter(position__gt=0).only("pk", "label", "seed"):
        with transaction.atomic():
            # The unique run decides which of two workers that end at once starts the job.
            difference, new = Difference.objects.get_or_create(run=other, defaults={"against": reference})
            if new:
                title = f"Compare: {other.label} with the reference, seed {other.seed}"
                params = {"difference": difference.pk}
                user = run.created_by
                difference.job = job_start("runs.difference", title=title, params=params, user=user, asked_before=True)
                difference.save(update_fields=["job"])


def difference_do(*, difference: Difference, step: Step) -> Json:
    """Find the pods with other nodes and the plugins that moved them, and store them as gzipped JSON."""
    reference, other = difference.against, difference.run
    step("Comparing", 0, 0)
    prepared, second = selectors.prepare_run(reference), selectors.prepare_run(other)

    def report_progress(now: float, explained: int, total: int) -> None:
        step("Moved pods explained:", explained, total)

    comparison = compare_runs(
        selectors.load_outcome(reference),
        selectors.load_outcome(other),
        prepared,
        selectors.load_configuration(reference),
        selectors.load_configuration(other),
        second_prepared=second,
        progress=report_progress,
    )
    content = [
        {**change.to_dict(), "what": kind}
        for kind, listed in (
            ("moved", comparison.moved),
            ("newly-unscheduled", comparison.newly_unscheduled),
            ("newly-scheduled", comparison.newly_scheduled),
        )
        for change in listed
    ]
    Difference.objects.filter(pk=difference.pk).update(
        content=gzip.compress(json.dumps(content).encode(), mtime=0), counts=comparison.counts()
    )
    return {"comparison": str(other.comparison_id)}


@transaction.atomic
def comparison_rename(*, user: User | None, comparison: Comparison, title: str) -> None:
    """Change the title of the comparison."""
    title = title.strip()
    if not 1 <= len(title) <= 200:
        raise ApplicationError.at("title", "A title has from 1 to 200 characters.")
    before, comparison.title = comparison.title, title
    comparison.save(update_fields=["title"])
    audit.record(user, "comparison.renamed", comparison, title, before=before)


def comparison_cancel(*, user: User | None, comparison: Comparison) -> int:
    """Cancel the jobs of runs that have not ended; return their number."""
    cancelled = 0
    for run in comparison.runs.select_related("job").defer(*selectors.LARGE[:3]):
        if run.job is not None and run.job.state not in ENDED:
            try:
                job_cancel(job=run.job, user=user)
            # It ended in the meantime.
            except Conflict:
                continue
            cancelled += 1
    return cancelled


@transaction.atomic
def comparison_delete(*, user: User | None, comparison: Comparison) -> None:
    """Delete a comparison with its runs. Raise Conflict while one of them runs."""
    if any(not selectors.is_finished(run) for run in comparison.runs.select_related("job").defer(*selectors.LARGE[:3])):
        raise Conflict("A run of this comparison is still going: cancel it first.")
    audit.record(user, "comparison.deleted", comparison, comparison.title)
    comparison.delete()


@transaction.atomic
def run_delete(*, user: User | None, run: Run) -> None:
    """Delete a run. Raise Conflict while it runs, or if it belongs to a comparison."""
    if run.comparison_id is not None:
        raise Conflict("The run belongs to a comparison: delete that.")
    if not selectors.is_finished(run):
        raise Conflict("The run is still going: cancel its job first.")
    audit.record(user, "run.deleted", run, f"{run.revision.scenario.name} under {run.label}")
    run.delete()
