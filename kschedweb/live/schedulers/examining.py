"""What `manage.py doctor` asks about live schedulers: who leads each, who stands by, and whether they go round."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.selectors import alive, running
from kschedweb.web.doctor import Finding, failure, ok, warning

HANGS = timedelta(seconds=15)  # between the heartbeat and the last round of the loop


def schedulers_examine() -> Iterator[Finding]:
    rows = list(running())
    for live in rows:
        yield from _examine(live, f"{live.scheduler_name} in {live.cluster.name}")
    yield ok(f"{len(rows)} live schedulers are to run")


def _examine(live: LiveScheduler, name: str) -> Iterator[Finding]:
    found = list(alive(live.candidates.all()))
    leading = [each for each in found if each.leading]
    if not found:
        yield failure(
            f"No process hosts {name}: its pods wait.",
            "Start a scheduler process (embedded: make run), or switch the live scheduler off.",
        )
        return
    if not leading:
        said = next((each.error for each in found if each.error), "").rstrip(".")
        yield failure(
            f"Nobody leads {name}{f': {said}' if said else '; the lock is held by another, or was not got yet'}.",
            "Look at the page of the live scheduler, and at the lock in the cluster: kubectl get lease.",
        )
    if len(leading) > 1 and live.mode == Mode.SCHEDULING:
        yield failure(
            f"Two processes say that they lead {name}: {', '.join(each.identity for each in leading)}.",
            "If that lasts for more than the lease, compare the clocks of their machines and end one of them.",
        )
    for each in leading:
        rests = each.heartbeat - (each.ticked_at or each.heartbeat)
        if rests > HANGS:
            yield failure(
                f"{each.identity} leads {name} and has not gone round for {rests.seconds} s.",
                "It hands over by itself within a minute; if it does not, end that process.",
            )
        elif each.error:
            yield warning(f"{name}: {each.error}", "Its page says since when, and what the API server answered.")
    if settings.REDIS_URL and len(found) == 1:
        yield warning(f"One process takes part in {name}: nobody stands by.", "Start a second scheduler process.")
