"""Rivals: processes that take part by another lock, and so could lead a live scheduler beside its leader."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models.functions import Now

from kschedweb.live.schedulers.election import locks
from kschedweb.live.schedulers.election.terms import election_of
from kschedweb.live.schedulers.models import Candidate
from kschedweb.live.schedulers.selectors import ALIVE
from kschedweb.web.errors import Conflict, FieldProblem

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.live.schedulers.models import LiveScheduler

# Rows of processes that fell silent count for so long. A hung process can wake up and still believe that it leads.
FORGOTTEN = timedelta(minutes=10)
SILENT = "A process that fell silent counts for 10 minutes more."


def check_change(live: LiveScheduler, before: str) -> None:
    """Raise Conflict if the lock of ``live`` does not exclude a process that took part lately.

    ``before`` is the election of ``live`` until now.
    """
    election = election_of(live)
    for rival in find_rivals(live):
        (kind, place), (wanted_kind, wanted_place) = rival.election.split(" "), election.split(" ")
        advice = "Wait until it has followed or ended."
        if before and place != wanted_place:
            advice = "Switch it off first."
        elif rival.election == before:
            advice = f"Go by way of {', then '.join(locks.migration_steps(kind, wanted_kind))}, or switch it off first."
        message = f"{_describe_rivalry(rival, election)} {advice} {SILENT}"
        raise Conflict(
            message, errors=[FieldProblem(path="lock" if place == wanted_place else "lease_name", message=message)]
        )


def check_silent(live: LiveScheduler) -> None:
    """Raise Conflict if ``live`` gets a new election while a silent process may still lead.

    Processes that are alive give their lock back before anybody takes another one: see ``services.candidate_join``.
    """
    silent = find_rivals(live).filter(heartbeat__lt=Now() - ALIVE).first()
    if silent is not None:
        raise Conflict.at("revision", f"{_describe_rivalry(silent, election_of(live))} It fell silent. {SILENT}")


def find_rivals(live: LiveScheduler) -> QuerySet[Candidate]:
    """Return the processes that took part lately by a lock that does not exclude the leader by the lock of ``live``."""
    election = election_of(live)
    if not election:
        return Candidate.objects.none()
    kind, place = election.split(" ")
    together = [f"{other} {place}" for other in locks.PARTS if locks.exclude_each_other(kind, other)]
    lately = Candidate.objects.filter(scheduler_id=live.pk, heartbeat__gte=Now() - FORGOTTEN)
    return lately.exclude(election__in=["", *together]).order_by("identity")


def _describe_rivalry(rival: Candidate, election: str) -> str:
    return (
        f"{rival.identity} takes part by {rival.election}, which keeps nobody out who leads by {election}: "
        "both could lead at once."
    )


def describe_awaited(live: LiveScheduler, identity: str) -> str:
    """Return the sentence that says for which process ``services.candidate_join`` lets ``identity`` wait, or ""."""
    first = find_rivals(live).exclude(identity=identity).first()
    return (
        f"{_describe_rivalry(first, election_of(live))} This process waits until it has ended. {SILENT}"
        if first
        else ""
    )
