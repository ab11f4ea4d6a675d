"""Doing the trials of a sweep: any number of workers, on any machines, each with a claim on what it does.

One message of a sweep is out at a time. A worker that takes it claims a trial, puts the next message back at the end
of the queue, so that whoever is idle can join in, and does trials for a short while. A claim must be renewed: when it
lapses its worker is gone, and the trial is given out again. Where nobody works any more the sweep's job falls silent,
and reconciliation sends it out again, as it does with every job.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import time
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from kschedweb.celery import app
from kschedweb.engine.config import Configuration
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import SimulationError
from kschedweb.engine.studies.measure.measures import Measure, measure
from kschedweb.engine.studies.measure.objectives import moved, places
from kschedweb.engine.studies.play.run import run as simulate
from kschedweb.jobs import services as jobs
from kschedweb.jobs.child import out_of_memory
from kschedweb.jobs.models import State
from kschedweb.jobs.tasks import Cancelled, heartbeat
from kschedweb.playground.scenarios.selectors import prepared
from kschedweb.playground.sweeps import searching, selectors
from kschedweb.playground.sweeps.models import Method, Origin, Sweep, Trial, TrialState
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.jobs.models import Job
    from kschedweb.jobs.processes import Lost

logger = structlog.get_logger(__name__)

CLAIM = timedelta(seconds=15)  # a claim that is not renewed for so long has lapsed
BEAT = 3.0  # seconds between renewals
TURN = 10.0  # seconds of trials before other work of the queue gets its turn
MAX_ATTEMPTS = 3  # a trial that ends as many workers is given up
AHEAD = 8  # points that a search is asked for at once
CHOICE = 16  # of the next trials one is claimed at random, so that workers seldom want the same
LOOK = 0.5  # seconds between looks whether the sweep was cancelled
STOPPED = f"The worker stopped {MAX_ATTEMPTS} times while it did this trial."
TASK = "sweeps.turn"

_bases: LRU[dict[str, str]] = LRU(6)


def turn_send(sweep: Sweep, wait: float = 0.0) -> None:
    """Put the sweep's message into the queue; one that is still out counts no more. ``wait`` is in seconds."""
    Sweep.objects.filter(pk=sweep.pk).update(turn=F("turn") + 1)
    number = Sweep.objects.values_list("turn", flat=True).get(pk=sweep.pk)
    app.send_task(TASK, [str(sweep.pk), number], countdown=wait or None)


def turn_take(sweep_id: str, number: int) -> Sweep | None:
    """The sweep, for the one who has its message; ``None`` where another message has gone out since."""
    taken = Sweep.objects.filter(pk=sweep_id, turn=number).update(turn=F("turn") + 1)
    return Sweep.objects.select_related("revision__scenario", "job").get(pk=sweep_id) if taken else None


def turn(sweep_id: str, number: int, worker: str) -> int:
    """Take part in the sweep whose message this is, until the turn is over; how many trials were done."""
    found = turn_take(sweep_id, number)
    return turn_do(found, _name(worker, os.getpid())) if found is not None else 0


def _name(worker: str, process: int) -> str:
    """What claims of a worker's process are known by."""
    return f"{worker} {process}"[-120:]


def turn_lost(sweep_id: str, worker: str, lost: Lost) -> None:
    """The process of a worker was ended by the trial that it did: it is not tried again, and the others go on."""
    sweep = Sweep.objects.select_related("job").filter(pk=sweep_id).first()
    claims = Trial.objects.filter(sweep=sweep, state=TrialState.RUNNING, worker=_name(worker, lost.pid))
    if sweep is not None and sweep.job is not None and (trial := claims.first()) is not None:
        _failed(trial, sweep.job, lost.detail)
        _end(sweep, sweep.job)


def turn_do(sweep: Sweep, worker: str) -> int:
    """Do trials until the turn is over or none is left for us; how many."""
    job = _running(sweep)
    trial = trial_claim(sweep, worker) if job is not None else None
    if job is None or trial is None:
        _rest(sweep, job)
        return 0
    turn_send(sweep)
    over, count = time.monotonic() + TURN, 0
    while trial is not None:
        if not _do(sweep, trial, job):
            return count
        count += 1
        # When the turn is over, whoever takes the message that is out goes on.
        trial = trial_claim(sweep, worker) if time.monotonic() <= over else None
    _end(sweep, job)
    return count


def _running(sweep: Sweep) -> Job | None:
    """The sweep's job as it is now, ``None`` where it is over."""
    job = sweep.job
    if job is None:
        return None
    job.refresh_from_db()
    if job.cancel_requested:
        jobs.job_stopped(job)
    return job if job.state == State.RUNNING and not job.cancel_requested else None


def _rest(sweep: Sweep, job: Job | None) -> None:
    """Nothing to claim: end the sweep, or look again when the first claim of somebody else can have lapsed."""
    if job is None or _end(sweep, job):
        return
    claims = Trial.objects.filter(sweep=sweep, state=TrialState.RUNNING, claimed_until__isnull=False)
    lapse = claims.order_by("claimed_until").values_list("claimed_until", flat=True).first()
    left = (lapse - timezone.now()).total_seconds() if lapse is not None else 0.0
    turn_send(sweep, max(left, 0.0) + 1.0)


def _end(sweep: Sweep, job: Job) -> bool:
    """Whether every trial is done; whoever sees it first ends the job."""
    trials = Trial.objects.filter(sweep=sweep)
    planned = Sweep.objects.values_list("planned", flat=True).get(pk=sweep.pk)
    ended = trials.filter(state__in=(TrialState.DONE, TrialState.FAILED)).count()
    if ended < planned or trials.filter(state__in=(TrialState.WAITING, TrialState.RUNNING)).exists():
        return False
    jobs.job_progress(job, step="", done=ended, total=ended)
    jobs.job_succeed(job, {"sweep": str(sweep.pk), "trials": ended})
    return True


# --- claims


def _open(sweep: Sweep, now: datetime) -> QuerySet[Trial]:
    """Trials that can be claimed: those that wait, and those whose claim has lapsed."""
    lapsed = Q(state=TrialState.RUNNING, claimed_until__lt=now, attempt__lt=MAX_ATTEMPTS)
    return Trial.objects.filter(Q(state=TrialState.WAITING) | lapsed, sweep=sweep)


def trial_claim(sweep: Sweep, worker: str) -> Trial | None:
    """A trial that nobody else does, claimed; ``None`` where there is none."""
    while True:
        now = timezone.now()
        _give_up(sweep, now)
        offered = list(_open(sweep, now).order_by("number").values_list("pk", "number", "attempt")[:CHOICE])
        if not offered:
            if _ask(sweep):
                continue
            return None
        # The base policy first: what is wrong with the scenario shows with it, and others are held against it.
        pk, _, attempt = offered[0] if offered[0][1] == 0 else secrets.choice(offered)
        won = _open(sweep, now).filter(pk=pk, attempt=attempt)
        if won.update(
            state=TrialState.RUNNING, attempt=attempt + 1, claimed_until=now + CLAIM, worker=worker, error=""
        ):
            return Trial.objects.get(pk=pk)


def _give_up(sweep: Sweep, now: datetime) -> None:
    lapsed = Trial.objects.filter(sweep=sweep, state=TrialState.RUNNING, claimed_until__lt=now)
    lapsed.filter(attempt__gte=MAX_ATTEMPTS).update(
        state=TrialState.FAILED, error=STOPPED, claimed_until=None, ended_at=now
    )


def _mine(trial: Trial) -> QuerySet[Trial]:
    return Trial.objects.filter(pk=trial.pk, state=TrialState.RUNNING, attempt=trial.attempt)


def trial_beat(trial: Trial, job: Job) -> None:
    """Renew the claim, and say that the sweep is worked on."""
    _mine(trial).update(claimed_until=timezone.now() + CLAIM)
    jobs.job_beat(job)


def _release(trial: Trial) -> None:
    """Give the trial back undone: it was not its fault."""
    _mine(trial).update(state=TrialState.WAITING, attempt=F("attempt") - 1, claimed_until=None, worker="")


def _ask(sweep: Sweep) -> bool:
    """Have the search name further points; whether there is something to claim now."""
    if sweep.method == Method.GRID:
        return False
    with transaction.atomic():
        locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
        if _open(sweep, timezone.now()).exists():
            return True  # Another worker asked in the meantime.
        trials = list(Trial.objects.filter(sweep=sweep).defer("places").order_by("number"))
        room = min(AHEAD, locked.planned - len(trials))
        if room <= 0:
            return False
        asked = searching.ask(
            selectors.space(sweep),
            [one["direction"] for one in sweep.objectives],
            [_known(sweep, one) for one in trials],
            method=sweep.method,
            seed=sweep.seed,
            count=room,
        )
        first = len(trials)
        Trial.objects.bulk_create(
            Trial(sweep=sweep, number=first + place, origin=Origin.SEARCH, point=list(one.point), notes=one.notes)
            for place, one in enumerate(asked)
        )
        if len(asked) < room:  # As good as every point has been tried.
            locked.planned = first + len(asked)
            locked.save(update_fields=["planned"])
    return bool(asked)


def _known(sweep: Sweep, trial: Trial) -> searching.KnownTrial:
    found = selectors.costs(sweep, trial) if trial.state == TrialState.DONE else None
    failed = trial.state == TrialState.FAILED or (trial.state == TrialState.DONE and found is None)
    return searching.KnownTrial(tuple(trial.point), found, failed, trial.notes)


# --- one trial


def _do(sweep: Sweep, trial: Trial, job: Job) -> bool:
    """Do the trial; whether the worker is to go on with the sweep."""
    begun = time.monotonic()
    try:
        with heartbeat(lambda: trial_beat(trial, job), BEAT, f"trial-{trial.pk}"):
            kept = _played(sweep, trial, _Looker(sweep, job))
    except Cancelled:
        _release(trial)
        _running(sweep)  # Ends the job where it was cancelled.
        return False
    except Exception as error:
        if out_of_memory(error):
            raise  # The process ends, and whoever gave it the work says why: see turn_lost.
        return _failed(trial, job, _reason(trial, error))
    done = _mine(trial).update(
        state=TrialState.DONE,
        claimed_until=None,
        seconds=time.monotonic() - begun,
        ended_at=timezone.now(),
        **kept,
    )
    if done and not _tell(sweep, job):
        _running(sweep)
        return False
    return True


def _reason(trial: Trial, error: Exception) -> str:
    """Why a trial failed, as the person reads it."""
    if isinstance(error, ApplicationError):
        return error.detail
    if isinstance(error, SimulationError):
        return f"The scenario cannot be played: {error}."
    if isinstance(error, SoftTimeLimitExceeded):
        return "The trial took longer than this server allows."
    logger.error("trial_failed", sweep=str(trial.sweep_id), trial=trial.number, exc_info=error)
    return f"A reason that was not foreseen: the log names it under {trial.sweep_id}."


def _failed(trial: Trial, job: Job, error: str) -> bool:
    """Keep why; where it is the base policy's trial the sweep fails, since the others would fail likewise."""
    _mine(trial).update(state=TrialState.FAILED, error=error[:2000], claimed_until=None, ended_at=timezone.now())
    if trial.origin == Origin.BASE:
        jobs.job_fail(job, f"The base policy's trial failed: {error}")
        return False
    return True


def _tell(sweep: Sweep, job: Job) -> bool:
    """Say how far the sweep is; False when it must stop."""
    ended = Trial.objects.filter(sweep=sweep, state__in=(TrialState.DONE, TrialState.FAILED)).count()
    return jobs.job_progress(job, step="Trials:", done=ended, total=max(sweep.planned, ended))


class _Looker:
    """Hears of a run's progress, and ends it once the sweep is cancelled."""

    def __init__(self, sweep: Sweep, job: Job) -> None:
        self._sweep, self._job, self._next = sweep, job, 0.0

    def __call__(self, now: float, tried: int, known: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LOOK
            if not _tell(self._sweep, self._job):
                raise Cancelled


def _played(sweep: Sweep, trial: Trial, progress: _Looker) -> dict[str, Any]:
    """What comes of a trial, as columns of its row."""
    configuration = _configuration(sweep, trial)
    values: dict[str, list[float | None]] = {}
    described: list[Measure] = []
    placed: dict[str, dict[str, str]] = {}
    for seed in sweep.seeds:
        outcome = simulate(prepared(sweep.revision, seed), configuration, progress=progress)
        after = places(outcome)
        placed[str(seed)] = after
        before = after if trial.origin == Origin.BASE else _base_places(sweep, seed, progress)
        described = [*measure(outcome), moved(before, after)]
        for one in described:
            values.setdefault(one.name, []).append(one.value)
    if trial.origin != Origin.BASE:
        return {"values": values}
    _describe(sweep, described)
    return {"values": values, "places": gzip.compress(json.dumps(placed).encode(), mtime=0)}


def _configuration(sweep: Sweep, trial: Trial) -> Configuration:
    loaded = load(selectors.space(sweep).document(trial.point))
    if loaded.configuration is None:
        raise Unprocessable(f"kube-scheduler would not take this policy: {'; '.join(loaded.errors[:3])}")
    return loaded.configuration


def _describe(sweep: Sweep, described: list[Measure]) -> None:
    """Keep what the measures are. Raises Unprocessable where an objective is none of them."""
    names = {one.name for one in described if one.value is not None}
    missing = [one["measure"] for one in sweep.objectives if one["measure"] not in names]
    if missing:
        raise Unprocessable(
            f"This scenario gives no value of {', '.join(missing)}; it gives {', '.join(sorted(names))}."
        )
    plain = [{key: value for key, value in asdict(one).items() if key != "value"} for one in described]
    Sweep.objects.filter(pk=sweep.pk).update(measures=plain, engine=CURRENT.engine)


def _base_places(sweep: Sweep, seed: int, progress: _Looker) -> dict[str, str]:
    """Where the base policy puts each pod: from its trial, or worked out anew where that is not done yet."""

    def find() -> dict[str, str]:
        kept = Trial.objects.filter(sweep=sweep, origin=Origin.BASE).values_list("places", flat=True).first()
        if kept:
            found: dict[str, str] = json.loads(gzip.decompress(bytes(kept)))[str(seed)]
            return found
        outcome = simulate(prepared(sweep.revision, seed), selectors.space(sweep).configuration, progress=progress)
        return places(outcome)

    return _bases.get((sweep.pk, seed), find)


def forget() -> None:
    """Drop what is kept; for tests that change what a primary key means."""
    _bases.clear()
