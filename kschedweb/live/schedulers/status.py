"""The status of live schedulers: in a word, in numbers, and by who hosts them. The same for page, REST and stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, gettext_noop, ngettext

from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.election.terms import election_of, terms_of
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.live.schedulers.selectors import list_alive, release_in_force
from kschedweb.web.durations import format_rough_duration

if TYPE_CHECKING:
    from kschedweb.engine.config import Release
    from kschedweb.live.schedulers.election.terms import ElectionTerms

# A loop that did not turn for longer counts as hanging.
HANGS = timedelta(seconds=10)
# A process sends a heartbeat each second, one that answers kube-scheduler every five. After this silence it may be
# gone.
LATE, LATE_EXTENDER = timedelta(seconds=4), timedelta(seconds=12)
QUEUES = ("active", "backoff", "unschedulable", "gated", "waiting")
# The word for a scheduler at work, by mode.
AT_WORK = {
    Mode.SHADOW: gettext_noop("Evaluating"),
    Mode.EXTENDER: gettext_noop("Answering"),
    Mode.SCHEDULING: gettext_noop("Scheduling"),
}


@dataclass(frozen=True)
class Status:
    """The status of a live scheduler, for people."""

    live: LiveScheduler
    # A word of ``AT_WORK``, or for what keeps it from work, such as "Paused".
    state: str
    # The colour of the word.
    tone: str
    advice: str
    leader: Candidate | None
    standbys: Sequence[Candidate]

    @property
    def release(self) -> Release:
        """Return the kube-scheduler as which it decides."""
        return release_in_force(self.live)

    @property
    def terms(self) -> ElectionTerms:
        """Return the terms of its election."""
        return terms_of(self.live)

    @property
    def depths(self) -> dict[str, int]:
        """Return the numbers of pods by queue; empty without a leader."""
        return self.leader.depths if self.leader else {}

    @property
    def queued(self) -> int:
        """Return the number of pods that are not placed yet."""
        return sum(self.depths.get(name, 0) for name in QUEUES)

    @property
    def rate(self) -> float:
        return self.leader.rate if self.leader else 0.0

    @property
    def median(self) -> float | None:
        """Return the median milliseconds from creation to binding, without waits for people."""
        return self._latency_ms("p50")

    @property
    def p99(self) -> float | None:
        return self._latency_ms("p99")

    @property
    def people(self) -> float | None:
        """Return the median milliseconds until people let a held pod through."""
        return self._latency_ms("people")

    @property
    def people_words(self) -> str:
        return "" if self.people is None else format_rough_duration(self.people / 1000)

    @property
    def error(self) -> str:
        return (
            self.leader.error
            if self.leader
            else next((candidate.error for candidate in self.standbys if candidate.error), "")
        )

    @property
    def error_at(self) -> datetime | None:
        return (
            self.leader.error_at
            if self.leader
            else next((candidate.error_at for candidate in self.standbys if candidate.error), None)
        )

    def _latency_ms(self, name: str) -> float | None:
        seconds = self.leader.latency.get(name) if self.leader else None
        return None if seconds is None else 1000 * seconds

    def to_dict(self) -> Json:
        """Return plain data for REST and the stream, with latencies in milliseconds."""
        return {
            "state": self.state,
            "advice": self.advice,
            "paused": self.live.paused,
            "steps": self.live.steps,
            "depths": self.depths,
            "rate": round(self.rate, 2),
            "median_ms": self.median,
            "p99_ms": self.p99,
            "people_median_ms": self.people,
            "error": self.error,
            "error_at": self.error_at,
            "candidates": [
                candidate_dict(candidate) for candidate in ([self.leader] if self.leader else []) + list(self.standbys)
            ],
        }


WITHOUT_LEADER = {
    Mode.SCHEDULING: gettext_noop("Nobody holds the lock now: a standby takes it when it has run out."),
    Mode.SHADOW: gettext_noop("Nobody judges pods now: a standby takes over 10 s after the last one fell silent."),
    Mode.EXTENDER: gettext_noop("No process answers kube-scheduler yet: see the last error, if there is one."),
}


SILENT = gettext_noop(
    "The leader has missed its last heartbeats: it, or its way to the database, may be gone. Where a lock decides who "
    "leads, a standby takes it once it has run out."
)


def candidate_dict(candidate: Candidate) -> Json:
    names = (
        "identity",
        "election",
        "leading",
        "synced",
        "epoch",
        "started_at",
        "heartbeat",
        "ticked_at",
        "bound",
        "error",
    )
    values = {name: getattr(candidate, name) for name in names}
    return values | {"silent_seconds": round(candidate.silent.total_seconds(), 1)}


def list_statuses(schedulers: Iterable[LiveScheduler]) -> list[Status]:
    """Return the status of each, with one query for all of them."""
    listed = list(schedulers)
    taking_part = list_alive(Candidate.objects.filter(scheduler__in=listed)).defer("history")
    by_scheduler: dict[Any, list[Candidate]] = {}
    for candidate in taking_part.select_related("revision__policy"):
        by_scheduler.setdefault(candidate.scheduler_id, []).append(candidate)
    return [compute_status(live, by_scheduler.get(live.pk, [])) for live in listed]


def status_of(live: LiveScheduler) -> Status:
    return list_statuses([live])[0]


def compute_status(live: LiveScheduler, heard: Sequence[Candidate]) -> Status:
    """Return the status of ``live``, whose candidates with a recent heartbeat are ``heard``."""
    leading = [candidate for candidate in heard if candidate.leading]
    # Two may believe that they lead for a moment: the later term counts.
    leader = max(leading, key=lambda candidate: (candidate.epoch, candidate.heartbeat), default=None)
    state, tone, advice = _describe_state(live, leader, heard)
    return Status(live, state, tone, advice, leader, [candidate for candidate in heard if candidate is not leader])


def _describe_state(live: LiveScheduler, leader: Candidate | None, heard: Sequence[Candidate]) -> tuple[str, str, str]:
    if live.mode == Mode.OFF:
        return gettext("Off"), "grey", gettext("Nothing is read from the cluster, and nothing is written to it.")
    if live.mode == Mode.EXTENDER and not any(candidate.leading or candidate.error for candidate in heard):
        advice = gettext("No kube-scheduler has asked lately. Its side has to be configured to ask here.")
        return gettext("Not asked"), "amber", advice
    if not heard:
        advice = gettext(
            "No process hosts it: start a worker of the queue scheduler, or wait some seconds after a start."
        )
        return gettext("Not hosted"), "red", advice
    if leader is None:
        advice = _still_by(live, heard) or gettext(WITHOUT_LEADER[Mode(live.mode)])
        return gettext("Without leader"), "amber", advice
    return _describe_led(live, leader)


def _still_by(live: LiveScheduler, heard: Sequence[Candidate]) -> str:
    """Return why nobody leads while the lock is being changed, "" if it is not."""
    election = election_of(live)
    earlier = [candidate for candidate in heard if candidate.election not in ("", election)]
    if not election or not earlier:
        return ""
    return gettext("The lock is another now: %(lock)s is taken once %(process)s has given %(old_lock)s back.") % {
        "lock": election,
        "process": earlier[0].identity,
        "old_lock": earlier[0].election,
    }


def _describe_led(live: LiveScheduler, leader: Candidate) -> tuple[str, str, str]:
    if leader.silent > (LATE_EXTENDER if live.mode == Mode.EXTENDER else LATE):
        return gettext("Silent"), "amber", gettext(SILENT)
    if not leader.synced:
        advice = gettext("The leader is reading the cluster. Nothing is decided before every kind is listed.")
        return gettext("Reading"), "amber", advice
    if leader.ticked_at is not None and leader.heartbeat - leader.ticked_at > HANGS:
        return gettext("Hanging"), "red", gettext("The leader's loop does not go round: see its log.")
    if live.paused:
        advice = gettext("No further pod is tried until somebody resumes it.")
        if live.steps:
            steps = ngettext("%(number)s pod still to be tried.", "%(number)s pods still to be tried.", live.steps)
            advice = f"{advice} {steps % {'number': live.steps}}"
        return gettext("Paused"), "amber", advice
    return gettext(AT_WORK[Mode(live.mode)]), "green", ""
