"""Run the trials of a sweep with any number of workers, which claim trials.

A sweep has one message at a time. A worker that receives it claims a trial, puts the next message at the end of the
queue, so that an idle worker can join, and runs trials for a short while. Claims must be renewed. When a claim
expires, its worker is gone and the trial can be claimed again. If no worker is left, the sweep's job falls silent,
and reconciliation sends it again, as for every job.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import time
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from kschedweb.celery import app
from kschedweb.engine.config import Configuration
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import SimulationError
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.objectives import last_nodes, measure_moved
from kschedweb.engine.studies.measure.values import RunMeasure
from kschedweb.engine.studies.play.run import run_scenario as simulate
from kschedweb.jobs import services as jobs
from kschedweb.jobs.child_process import out_of_memory
from kschedweb.jobs.models import JobState
from kschedweb.jobs.tasks import Cancelled, heartbeat
from kschedweb.playground.scenarios.selectors import prepare_revision, with_queue_settings
from kschedweb.playground.scenarios.validation import check_scenario
from kschedweb.playground.sweeps import sampling, selectors
from kschedweb.playground.sweeps.models import Method, Origin, Sweep, Trial, TrialState
from kschedweb.policies.validation import release_of_record
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.engine.studies.prepare.prepared import PreparedScenario
    from kschedweb.jobs.models import Job
    from kschedweb.jobs.processes import ProcessLost

logger = structlog.get_logger(__name__)

# Time after which a claim expires unless it is renewed.
CLAIM = timedelta(seconds=15)
# Seconds between renewals of a claim; a claim survives several that are lost.
BEAT = 3.0
# Seconds that a worker spends on trials before other work of the queue.
TURN = 10.0
# A trial that ended this many workers has failed.
MAX_ATTEMPTS = 3
# Points that are requested from the sampler at once.
AHEAD = 8
# A worker claims one of this many next trials at random, so that workers seldom want the same one.
CHOICE = 16
# Seconds between checks for cancellation.
LOOK = 0.5
STOPPED = f"The worker stopped {MAX_ATTEMPTS} times while it did this trial."
TASK = "sweeps.turn"

# Nodes of pods under the base policy, by sweep and seed: every trial of a worker is compared with them.
_bases: LRU[dict[str, str]] = LRU(6)


def turn_send(sweep: Sweep, wait: float = 0.0) -> None:
    """Send a new message of the sweep, which invalidates earlier ones. ``wait`` is in seconds."""
    # The number is incremented in the database, since other workers may do the same at this moment.
    Sweep.objects.filter(pk=sweep.pk).update(turn=F("turn") + 1)
    number = Sweep.objects.values_list("turn", flat=True).get(pk=sweep.pk)
    app.send_task(TASK, [str(sweep.pk), number], countdown=wait or None)


def turn_take(sweep_id: str, number: int) -> Sweep | None:
    """Return the sweep if this message is its current one; ``None`` if a newer message was sent."""
    # One UPDATE both checks the number and invalidates the message, so a redelivered message does nothing.
    is_current = Sweep.objects.filter(pk=sweep_id, turn=number).update(turn=F("turn") + 1)
    return Sweep.objects.select_related("revision__scenario", "job").get(pk=sweep_id) if is_current else None


def run_turn(sweep_id: str, number: int, worker: str) -> int:
    """Run trials of the sweep of this message until the turn is over, and return their number."""
    sweep = turn_take(sweep_id, number)
    return turn_do(sweep, _worker_name(worker, os.getpid())) if sweep is not None else 0


def _worker_name(worker: str, process: int) -> str:
    """Return the name under which a process of a worker claims trials."""
    # The column has 120 characters; the end is what tells processes apart.
    return f"{worker} {process}"[-120:]


def turn_lost(sweep_id: str, worker: str, lost: ProcessLost) -> None:
    """Fail the trial that ended the process of a worker, and let the other trials go on."""
    sweep = Sweep.objects.select_related("job").filter(pk=sweep_id).first()
    claims = Trial.objects.filter(sweep=sweep, state=TrialState.RUNNING, worker=_worker_name(worker, lost.pid))
    if sweep is not None and sweep.job is not None and (trial := claims.first()) is not None:
        _fail_trial(trial, sweep.job, lost.detail)
        _end_if_done(sweep, sweep.job)


def turn_do(sweep: Sweep, worker: str) -> int:
    """Run trials until the turn is over or none can be claimed, and return their number."""
    job = _check_running(sweep)
    trial = trial_claim(sweep, worker) if job is not None else None
    if job is None or trial is None:
        _finish_or_wait(sweep, job)
        return 0
    # Sent before the trials, so that an idle worker joins while this one is busy. A sweep that gives way takes one
    # worker, for a trial at a time.
    if not job.idle:
        turn_send(sweep)
    over, count = time.monotonic() + (0.0 if job.idle else TURN), 0
    while trial is not None:
        if not _do_trial(sweep, trial, job):
            return count
        count += 1
        # After this turn, the worker with the next message continues.
        trial = trial_claim(sweep, worker) if time.monotonic() <= over else None
    if not _end_if_done(sweep, job) and job.idle:
        turn_send(sweep)
    return count


def _check_running(sweep: Sweep) -> Job | None:
    """Return the sweep's job if it is still running, or else ``None``; stop a job whose cancellation was requested."""
    job = sweep.job
    if job is None:
        return None
    job.refresh_from_db()
    if job.cancel_requested:
        jobs.job_stopped(job)
    return job if job.state == JobState.RUNNING and not job.cancel_requested else None


def _finish_or_wait(sweep: Sweep, job: Job | None) -> None:
    """End the sweep if every trial has ended, or else send a message for when the first claim may have expired."""
    if job is None or _end_if_done(sweep, job):
        return
    claims = Trial.objects.filter(sweep=sweep, state=TrialState.RUNNING, claimed_until__isnull=False)
    lapse = claims.order_by("claimed_until").values_list("claimed_until", flat=True).first()
    wait = (lapse - timezone.now()).total_seconds() if lapse is not None else 0.0
    # A second more, so that the claim has expired by the clock of every worker.
    turn_send(sweep, max(wait, 0.0) + 1.0)


def _end_if_done(sweep: Sweep, job: Job) -> bool:
    """End the job and return True if every trial has ended."""
    trials = Trial.objects.filter(sweep=sweep)
    planned = Sweep.objects.values_list("planned", flat=True).get(pk=sweep.pk)
    ended = trials.filter(state__in=(TrialState.FINISHED, TrialState.FAILED)).count()
    if ended < planned or trials.filter(state__in=(TrialState.WAITING, TrialState.RUNNING)).exists():
        return False
    jobs.job_progress(job, step="", completed=ended, total=ended)
    jobs.job_succeed(job, {"sweep": str(sweep.pk), "trials": ended})
    return True


# --- claims


def _claimable_trials(sweep: Sweep, now: datetime) -> QuerySet[Trial]:
    """Return the trials that can be claimed: waiting ones, and those with expired claims."""
    lapsed = Q(state=TrialState.RUNNING, claimed_until__lt=now, attempt__lt=MAX_ATTEMPTS)
    return Trial.objects.filter(Q(state=TrialState.WAITING) | lapsed, sweep=sweep)


def trial_claim(sweep: Sweep, worker: str) -> Trial | None:
    """Claim a trial and return it; ``None`` if there is none to claim."""
    while True:
        now = timezone.now()
        _give_up(sweep, now)
        offered = list(_claimable_trials(sweep, now).order_by("number").values_list("pk", "number", "attempt")[:CHOICE])
        if not offered:
            if _ask_sampler(sweep):
                continue
            return None
        # The base policy comes first: it shows errors of the scenario, and other trials are compared with it.
        pk, _, attempt = offered[0] if offered[0][1] == 0 else secrets.choice(offered)
        won = _claimable_trials(sweep, now).filter(pk=pk, attempt=attempt)
        # The attempt is part of the condition: of two workers that want the same trial, one UPDATE changes no row.
        if won.update(
            state=TrialState.RUNNING, attempt=attempt + 1, claimed_until=now + CLAIM, worker=worker, error=""
        ):
            return Trial.objects.get(pk=pk)


def _give_up(sweep: Sweep, now: datetime) -> None:
    """Fail the trials whose last attempt has expired."""
    lapsed = Trial.objects.filter(sweep=sweep, state=TrialState.RUNNING, claimed_until__lt=now)
    lapsed.filter(attempt__gte=MAX_ATTEMPTS).update(
        state=TrialState.FAILED, error=STOPPED, claimed_until=None, ended_at=now
    )


def _own_claim(trial: Trial) -> QuerySet[Trial]:
    """Return the trial as a query that is empty once another worker has claimed it."""
    return Trial.objects.filter(pk=trial.pk, state=TrialState.RUNNING, attempt=trial.attempt)


def renew_claim(trial: Trial, job: Job) -> None:
    """Renew the claim, and send a heartbeat of the job."""
    _own_claim(trial).update(claimed_until=timezone.now() + CLAIM)
    jobs.job_beat(job)


def _release_trial(trial: Trial) -> None:
    """Return the trial to the queue without counting the attempt."""
    _own_claim(trial).update(state=TrialState.WAITING, attempt=F("attempt") - 1, claimed_until=None, worker="")


def _ask_sampler(sweep: Sweep) -> bool:
    """Request further points from the sampler; return whether there is something to claim now."""
    # All points of a grid were created when it began.
    if sweep.method == Method.GRID:
        return False
    with transaction.atomic():
        # The lock lets one worker at a time ask, since a suggestion depends on all trials before it.
        locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
        if _claimable_trials(sweep, timezone.now()).exists():
            # Another worker asked in the meantime.
            return True
        trials = list(Trial.objects.filter(sweep=sweep).defer("places").order_by("number"))
        room = min(AHEAD, locked.planned - len(trials))
        if room <= 0:
            return False
        suggestions = sampling.suggest_trials(
            selectors.load_space(sweep),
            [objective["direction"] for objective in sweep.objectives],
            [_to_known_trial(sweep, trial) for trial in trials],
            method=sweep.method,
            seed=sweep.seed,
            count=room,
        )
        first = len(trials)
        Trial.objects.bulk_create(
            Trial(
                sweep=sweep,
                number=first + place,
                origin=Origin.SEARCH,
                point=list(suggestion.point),
                notes=suggestion.notes,
            )
            for place, suggestion in enumerate(suggestions)
        )
        # Almost every point has been tried: the sweep ends with fewer trials than planned.
        if len(suggestions) < room:
            locked.planned = first + len(suggestions)
            locked.save(update_fields=["planned"])
    return bool(suggestions)


def _to_known_trial(sweep: Sweep, trial: Trial) -> sampling.KnownTrial:
    means = selectors.objective_means(sweep, trial) if trial.state == TrialState.FINISHED else None
    # A trial without a value of an objective tells the sampler nothing, and counts as failed.
    failed = trial.state == TrialState.FAILED or (trial.state == TrialState.FINISHED and means is None)
    return sampling.KnownTrial(tuple(trial.point), means, failed, trial.notes)


# --- one trial


def _do_trial(sweep: Sweep, trial: Trial, job: Job) -> bool:
    """Run the trial; return whether to go on with the sweep."""
    begun = time.monotonic()
    try:
        with heartbeat(lambda: renew_claim(trial, job), BEAT, f"trial-{trial.pk}"):
            fields = _play_trial(sweep, trial, _Looker(sweep, job))
    except Cancelled:
        _release_trial(trial)
        # Ends a cancelled job.
        _check_running(sweep)
        return False
    except Exception as error:
        if out_of_memory(error):
            # The process ends, and turn_lost reports why.
            raise
        return _fail_trial(trial, job, _failure_reason(trial, error))
    # No row is updated if the claim expired meanwhile: the result of the newer attempt counts.
    updated = _own_claim(trial).update(
        state=TrialState.FINISHED,
        claimed_until=None,
        seconds=time.monotonic() - begun,
        ended_at=timezone.now(),
        **fields,
    )
    if updated and not _report_progress(sweep, job):
        _check_running(sweep)
        return False
    return True


def _failure_reason(trial: Trial, error: Exception) -> str:
    """Return the readable reason why a trial failed."""
    if isinstance(error, ApplicationError):
        return error.detail
    if isinstance(error, SimulationError):
        return f"The scenario cannot be played: {error}."
    if isinstance(error, SoftTimeLimitExceeded):
        return "The trial took longer than this server allows."
    logger.error("trial_failed", sweep=str(trial.sweep_id), trial=trial.number, exc_info=error)
    return f"An unexpected error: the log has it under {trial.sweep_id}."


def _fail_trial(trial: Trial, job: Job, error: str) -> bool:
    """Store the error. If the base policy's trial fails, the sweep fails too, since the others would fail likewise."""
    _own_claim(trial).update(state=TrialState.FAILED, error=error[:2000], claimed_until=None, ended_at=timezone.now())
    if trial.origin == Origin.BASE:
        jobs.job_fail(job, f"The base policy's trial failed: {error}")
        return False
    return True


def _report_progress(sweep: Sweep, job: Job) -> bool:
    """Report the progress of the sweep; return False if it must stop."""
    ended = Trial.objects.filter(sweep=sweep, state__in=(TrialState.FINISHED, TrialState.FAILED)).count()
    return jobs.job_progress(job, step="Trials:", completed=ended, total=max(sweep.planned, ended))


class _Looker:
    """A progress callback that ends a run once the sweep is cancelled."""

    def __init__(self, sweep: Sweep, job: Job) -> None:
        self._sweep, self._job, self._next = sweep, job, 0.0

    def __call__(self, now: float, attempts: int, total: int) -> None:
        # The engine calls this after every attempt to schedule, which is far more often than the database should be
        # asked.
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LOOK
            if not _report_progress(self._sweep, self._job):
                raise Cancelled


def _play_trial(sweep: Sweep, trial: Trial, progress: _Looker) -> dict[str, object]:
    """Return the result of a trial as fields of its row."""
    configuration = _trial_configuration(sweep, trial)
    values: dict[str, list[float | None]] = {}
    described: list[RunMeasure] = []
    placed: dict[str, dict[str, str]] = {}
    for seed in sweep.seeds:
        outcome = simulate(_prepare_trial(sweep, trial, seed), configuration, progress=progress)
        after = last_nodes(outcome)
        placed[str(seed)] = after
        before = after if trial.origin == Origin.BASE else _base_places(sweep, seed, progress)
        described = [*compute_measures(outcome), measure_moved(before, after)]
        for entry in described:
            values.setdefault(entry.name, []).append(entry.value)
    if trial.origin != Origin.BASE:
        return {"values": values}
    _store_measures(sweep, described)
    # mtime=0 makes equal content equal bytes.
    return {"values": values, "places": gzip.compress(json.dumps(placed).encode(), mtime=0)}


def _prepare_trial(sweep: Sweep, trial: Trial, seed: int) -> PreparedScenario:
    """Return the scenario with the trial's settings of quota queues."""
    prepared = prepare_revision(sweep.revision, seed)
    settings = selectors.load_space(sweep).settings_at(trial.point)
    if not settings:
        return prepared
    return with_queue_settings(prepared, check_scenario(sweep.revision.text).document, settings)


def _trial_configuration(sweep: Sweep, trial: Trial) -> Configuration:
    loaded = load(selectors.load_space(sweep).document_at(trial.point), release_of_record(sweep.process))
    if loaded.configuration is None:
        raise Unprocessable(f"kube-scheduler would not take this policy: {'; '.join(loaded.errors[:3])}")
    return loaded.configuration


def _store_measures(sweep: Sweep, described: list[RunMeasure]) -> None:
    """Store the descriptions of measures. Raise Unprocessable if an objective is not one of them."""
    names = {entry.name for entry in described if entry.value is not None}
    missing = [objective["measure"] for objective in sweep.objectives if objective["measure"] not in names]
    if missing:
        raise Unprocessable(
            f"This scenario gives no value of {', '.join(missing)}; it gives {', '.join(sorted(names))}."
        )
    plain = [{key: value for key, value in asdict(entry).items() if key != "value"} for entry in described]
    Sweep.objects.filter(pk=sweep.pk).update(measures=plain, engine=release_of_record(sweep.process).engine)


def _base_places(sweep: Sweep, seed: int, progress: _Looker) -> dict[str, str]:
    """Return the node of each pod under the base policy: from its trial, or simulated if that is not done yet."""

    def find_places() -> dict[str, str]:
        content = Trial.objects.filter(sweep=sweep, origin=Origin.BASE).values_list("places", flat=True).first()
        if content:
            nodes_by_pod: dict[str, str] = json.loads(gzip.decompress(bytes(content)))[str(seed)]
            return nodes_by_pod
        outcome = simulate(
            prepare_revision(sweep.revision, seed), selectors.load_space(sweep).configuration, progress=progress
        )
        return last_nodes(outcome)

    return _bases.get((sweep.pk, seed), find_places)


def clear_caches() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    _bases.clear()
