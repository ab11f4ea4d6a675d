"""Processes that could lead a live scheduler beside the one that does: those that take part by another lock."""

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

FORGOTTEN = timedelta(minutes=10)  # rows of processes that fell silent are kept for so long
SILENT = "A process that fell silent counts for 10 minutes more."


def check_change(live: LiveScheduler, before: str) -> None:
    """Raise Conflict where a process that took part lately is not kept out by the lock of ``live``.

    ``before`` is the election that ``live`` had until now.
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
    """Raise Conflict where ``live`` is to be elected anew while a process fell silent that may still lead.

    All others give their lock back before anybody takes another: ``services.candidate_join``.
    """
    silent = find_rivals(live).filter(heartbeat__lt=Now() - ALIVE).first()
    if silent is not None:
        raise Conflict.at("revision", f"{_describe_rivalry(silent, election_of(live))} It fell silent. {SILENT}")


def find_rivals(live: LiveScheduler) -> QuerySet[Candidate]:
    """Processes that took part lately by a lock that does not keep out who leads by the one of ``live``."""
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
    """For whom ``services.candidate_join`` has ``identity`` wait, as a sentence; "" for nobody."""
    first = find_rivals(live).exclude(identity=identity).first()
    return (
        f"{_describe_rivalry(first, election_of(live))} This process waits until it has ended. {SILENT}"
        if first
        else ""
    )
