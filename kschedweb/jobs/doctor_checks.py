"""The checks of `manage.py doctor` on workers, beat, and jobs that nobody takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from kschedweb import __version__
from kschedweb.celery import app
from kschedweb.jobs.models import Job, JobState, Pulse
from kschedweb.web.doctor import DoctorFinding, check_clock, failure, ok, warning

if TYPE_CHECKING:
    from kschedweb.jobs.vitals import WorkerVitals

# Seconds.
ANSWER_WITHIN = 2.0
# Seconds without a sign of beat, which sends one each minute.
LATE = 180.0
# Seconds that a job may stay undelivered.
LONG = 600.0
# Queues, and the service that serves each.
WORKER = {"celery": "worker", "scheduler": "scheduler"}


def collect_vitals() -> dict[str, WorkerVitals]:
    """Return the report of each worker of a scaled-out deployment, by its name."""
    answers: dict[str, WorkerVitals] = app.control.inspect(timeout=ANSWER_WITHIN)._request("kschedweb_vitals") or {}
    return answers


def workers_examine() -> Iterator[DoctorFinding]:
    """Check the workers. Embedded, no other process can be asked; beat's pulse goes through the worker there."""
    if not settings.REDIS_URL:
        return
    start_time = time.time()
    answers = collect_vitals()
    ended = time.time()
    for queue, service in WORKER.items():
        serving = [name for name, answer in answers.items() if queue in answer.get("queues", ())]
        if not serving:
            yield failure(
                f"No {service} process answers: what it should do waits.",
                f"Start one: celery -A kschedweb worker --queues {queue}, as docker-compose.yml does.",
            )
        elif queue == "scheduler" and len(serving) == 1:
            yield warning("One scheduler process answers: nobody stands by for it.", "Start a second one.")
    for name, answer in sorted(answers.items()):
        yield from check_clock(name, answer["time"] - min(max(answer["time"], start_time), ended))
        if answer["version"] != __version__:
            yield warning(
                f"{name} is of version {answer['version']}, and this is {__version__}.", "Finish the upgrade."
            )
    if answers:
        yield ok(f"{len(answers)} answer: {', '.join(sorted(answers))}")


def beat_examine() -> Iterator[DoctorFinding]:
    silent = ExpressionWrapper(Now() - F("at"), output_field=DurationField())
    pulse = Pulse.objects.filter(name=Pulse.BEAT).annotate(silent=silent).first()
    seconds = None if pulse is None else pulse.silent.total_seconds()
    if seconds is None or seconds > LATE:
        symptom = "has given no sign of life yet" if seconds is None else f"was last heard of {seconds:.0f} s ago"
        yield failure(
            f"Beat, or the worker that does what it asks for, {symptom}.",
            "Start beat and a worker (embedded: make run). After the very first start the sign comes within a minute.",
        )
    else:
        yield ok(f"heard of {seconds:.0f} s ago")


def queue_examine() -> Iterator[DoctorFinding]:
    waits = ExpressionWrapper(Now() - F("created_at"), output_field=DurationField())
    lost = Job.objects.filter(state=JobState.QUEUED, undelivered=True).annotate(waits=waits)
    late = [job for job in lost if job.waits.total_seconds() > LONG]
    if late:
        yield failure(
            f"{len(late)} jobs have lain undelivered for more than {LONG / 60:.0f} minutes.",
            "Look at Redis and at the workers: once both are there the jobs are sent again.",
        )
    else:
        yield ok("jobs are delivered")
