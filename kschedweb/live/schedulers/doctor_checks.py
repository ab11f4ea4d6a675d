"""The checks of `manage.py doctor` about live schedulers: who leads, who stands by, and whether loops turn."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.selectors import list_alive, list_running
from kschedweb.web.doctor import DoctorFinding, failure, ok, warning

# Between the heartbeat and the last turn of the loop.
HANGS = timedelta(seconds=15)


def schedulers_examine() -> Iterator[DoctorFinding]:
    rows = list(list_running())
    for live in rows:
        yield from _examine_live(live, f"{live.scheduler_name} in {live.cluster.name}")
    yield ok(f"{len(rows)} live schedulers are to run")


def _examine_live(live: LiveScheduler, name: str) -> Iterator[DoctorFinding]:
    candidates = list(list_alive(live.candidates.all()))
    leading = [candidate for candidate in candidates if candidate.leading]
    if not candidates:
        yield failure(
            f"No process hosts {name}: its pods wait.",
            "Start a scheduler process (embedded: make run), or switch the live scheduler off.",
        )
        return
    if not leading:
        error = next((candidate.error for candidate in candidates if candidate.error), "").rstrip(".")
        yield failure(
            f"Nobody leads {name}{f': {error}' if error else '; the lock is held by another, or was not got yet'}.",
            "Look at the page of the live scheduler, and at the lock in the cluster: kubectl get lease.",
        )
    if len(leading) > 1 and live.mode == Mode.SCHEDULING:
        yield failure(
            f"Two processes say that they lead {name}: {', '.join(candidate.identity for candidate in leading)}.",
            "If that lasts for more than the lease, compare the clocks of their machines and end one of them.",
        )
    for candidate in leading:
        rests = candidate.heartbeat - (candidate.ticked_at or candidate.heartbeat)
        if rests > HANGS:
            yield failure(
                f"{candidate.identity} leads {name} and has not gone round for {rests.seconds} s.",
                "It hands over by itself within a minute; if it does not, end that process.",
            )
        elif candidate.error:
            yield warning(f"{name}: {candidate.error}", "Its page says since when, and what the API server answered.")
    if settings.REDIS_URL and len(candidates) == 1:
        yield warning(f"One process takes part in {name}: nobody stands by.", "Start a second scheduler process.")
