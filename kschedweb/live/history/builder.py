"""The history of a pod: its tries, the changes that mattered between them, and its run, from a recording."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from kschedweb.clusters.flight.models import Stretch
from kschedweb.clusters.flight.rebuilding import format_moment_param
from kschedweb.clusters.flight.selectors import lines_between, list_stretches, moment_of, stretch_at, to_micros
from kschedweb.clusters.flight.track import REMOVED, Line, Replay
from kschedweb.clusters.models import Cluster
from kschedweb.decisions.responsibility import find_responsible_schedulers
from kschedweb.engine.json_types import Json
from kschedweb.engine.live.retrace import MOST_TRIES, RelevantChange, Retrace, RetracedTry
from kschedweb.engine.objects.pod import DEFAULT_SCHEDULER
from kschedweb.live.history.pod_creation import find_birth
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.live.schedulers.selectors import decisions_of_pod
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import load_configuration
from kschedweb.web import moments
from kschedweb.web.errors import NotFound

# Lines of a recording that are read for one history: some minutes of a busy cluster cost seconds to replay.
# Stretches are the times between gaps of the recording; the pod's creation is sought in so many of them.
MOST_LINES, MOST_STRETCHES = 100_000, 20
# Kinds of milestones. The values are read by templates and by REST.
CREATED, GATED, UNGATED, BOUND, STARTED, ENDED, DELETED = "came", "gated", "ungated", "bound", "ran", "ended", "gone"
# GAP: nothing was recorded until the next stretch. CUT: the history ends here because it is too long.
GAP, CUT = "gap", "cut"
MILESTONES = (CREATED, GATED, UNGATED, BOUND, STARTED, ENDED, DELETED, GAP, CUT)
# A history ends with the first of these: what follows says nothing about scheduling.
LAST = frozenset({STARTED, ENDED, DELETED})
POD = "Pod"


@dataclass(frozen=True)
class Milestone:
    """An event in a pod's life that its own object shows, or a time about which nothing is known."""

    at: datetime
    # One of ``MILESTONES``.
    kind: str
    # The node, the gates, the final phase or the creation time, as the kind has it.
    detail: str = ""
    # The end of a gap; None for all other kinds.
    gap_end: datetime | None = None

    @property
    def address_moment(self) -> str:
        """``at`` in the format of query parameters."""
        return format_moment_param(self.at)

    @property
    def created(self) -> datetime | None:
        """The creation time that the pod's metadata names; None for other milestones than CREATED."""
        moment = moments.read_moment(self.detail) if self.kind == CREATED else None
        return moment if isinstance(moment, datetime) else None


@dataclass(frozen=True)
class PlacementAttempt:
    """One try to place the pod."""

    at: datetime
    outcome: RetracedTry
    # The decision that a live scheduler stored for this try; None if the engine retraced it now.
    decision: LiveDecision | None = None

    @property
    def address_moment(self) -> str:
        """The last moment that the try saw, in the format of query parameters."""
        return format_moment_param(self.at)

    @property
    def mattered(self) -> list[tuple[datetime, RelevantChange]]:
        return [(_moment_at(change.at), change) for change in self.outcome.mattered]

    @property
    def unlisted_changes(self) -> int:
        """The number of changes that mattered besides those that are listed."""
        return self.outcome.mattered_count - len(self.outcome.mattered)


@dataclass
class PodHistory:
    """Everything known about one pod, oldest first."""

    cluster: Cluster
    # Namespace and name, with a slash between them.
    key: str
    uid: str
    revision: Revision
    # True if the tries are decisions that live schedulers stored; False if the engine retraced them.
    kept: bool = False
    # When the pod was created, or the beginning of the stretch that has it first.
    since: datetime | None = None
    # The end of what is covered; None before the first stretch ends.
    until: datetime | None = None
    milestones: list[Milestone] = field(default_factory=list)
    attempts: list[PlacementAttempt] = field(default_factory=list)
    # The first changes since the last try that may help the pod, and the number of all such changes.
    recent_changes: list[tuple[datetime, RelevantChange]] = field(default_factory=list)
    recent_change_count: int = 0
    # The PodGroup that places the pod. Its pods are tried together, so no tries of this pod alone exist.
    group: str = ""
    # True if the retrace gave up because there were too many tries.
    capped: bool = False

    @property
    def entries(self) -> list[Milestone | PlacementAttempt]:
        """Milestones and tries by time; at equal times a milestone precedes a try, except for the binding."""
        # A try causes the binding, and the binding causes the run: the order at equal times tells it like this.
        order = {BOUND: 2, STARTED: 3, ENDED: 3, DELETED: 4}
        both: list[Milestone | PlacementAttempt] = [*self.milestones, *self.attempts]
        return sorted(
            both, key=lambda entry: (entry.at, order.get(entry.kind, 0) if isinstance(entry, Milestone) else 1)
        )

    @property
    def complete(self) -> bool:
        """True if all tries up to ``until`` are listed, and nothing was cut off because there was too much."""
        return not self.capped and not any(milestone.kind == CUT for milestone in self.milestones)

    @property
    def bound_at(self) -> datetime | None:
        """The time of the binding, None without one."""
        return next((milestone.at for milestone in self.milestones if milestone.kind == BOUND), None)

    @property
    def unlisted_recent_changes(self) -> int:
        """The number of changes since the last try that may help the pod, besides those that are listed."""
        return self.recent_change_count - len(self.recent_changes)

    @property
    def node(self) -> str:
        """The node that the pod was bound to, "" for none."""
        return next((milestone.detail for milestone in self.milestones if milestone.kind == BOUND), "")


def build_history(cluster: Cluster, key: str, revision: Revision, at: datetime | None = None) -> PodHistory:
    """Return the history of the last pod ``key`` that existed at ``at`` or before, until it ran or was deleted.

    ``at`` is the end of the recording by default. Raise NotFound if no such pod, or nothing at all, was recorded, and
    Unprocessable for a classic policy.
    """
    load_configuration(revision)
    if at is None:
        last = list_stretches(cluster).last()
        at = moment_of(last.until) if last is not None else timezone.now()
    stretch, first = _find_first(cluster, key, stretch_at(cluster, at), to_micros(at))
    builder = _HistoryBuilder(cluster, key, revision)
    for next_stretch in [stretch, *list_stretches(cluster).filter(began__gt=stretch.began)]:
        builder.follow_stretch(next_stretch, max(first, next_stretch.began))
        if builder.is_over:
            break
    if not builder.history.uid:
        raise NotFound(f"No pod {key} was recorded in cluster {cluster.name} up to {at:%Y-%m-%d %H:%M:%S} UTC.")
    return builder.history


def _find_first(cluster: Cluster, key: str, stretch: Stretch, at: int) -> tuple[Stretch, int]:
    """Return the stretch in which the pod was created, and when (microseconds of the epoch).

    If no stretch shows its creation, return the earliest of the stretches that have it without a break, and its
    beginning.
    """
    earlier = list_stretches(cluster).filter(began__lt=stretch.began).order_by("-began")[:MOST_STRETCHES]
    last = stretch
    for candidate in (stretch, *earlier):
        first, was_there = find_birth(candidate, key, min(at, candidate.until))
        if first is not None:
            return candidate, first
        if not was_there:
            break
        last = candidate
    return last, last.began


class _HistoryBuilder:
    """Builds a history from the lines of one stretch after the other."""

    def __init__(self, cluster: Cluster, key: str, revision: Revision) -> None:
        self.history = PodHistory(cluster, key, "", revision)
        # True once nothing more can be added.
        self.is_over = False
        # Number of lines read so far.
        self._line_count = 0
        # The pod's object as last seen, to compare the next one with.
        self._pod: Json | None = None
        self._decisions: list[LiveDecision] = []

    def follow_stretch(self, stretch: Stretch, first: int) -> None:
        """Add all that ``stretch`` tells from ``first`` on (microseconds of the epoch)."""
        history, replay, retrace = self.history, Replay(), None
        if history.until is not None:
            history.milestones.append(Milestone(history.until, GAP, stretch.reason, moment_of(stretch.began)))
        for line in self._read_lines(stretch, first):
            # Lines before ``first`` only build up the state; the retrace starts once the pod is in it.
            if retrace is None:
                replay.apply_line(line)
                if (at := line[0]) >= first and (POD, history.key) in replay.known:
                    retrace = self._begin_retrace(replay, at)
            else:
                self._apply_change(replay, retrace, line)
            if self.is_over:
                break
        if retrace is None and (POD, history.key) in replay.known:
            retrace = self._begin_retrace(replay, first)
        if retrace is not None:
            self._finish_stretch(retrace, stretch)
        # The pod existed before the gap and is not in the next stretch: it was deleted in between.
        elif history.uid:
            history.milestones.append(Milestone(moment_of(stretch.began), DELETED))
            self.is_over = True

    def _read_lines(self, stretch: Stretch, first: int) -> Iterator[Any]:
        """Yield the lines of the stretch; cut the history off after ``MOST_LINES``."""
        for line in lines_between(stretch, first, stretch.until):
            self._line_count += line[0] >= first
            if self._line_count > MOST_LINES:
                self.history.until, self.is_over = moment_of(line[0]), True
                self.history.milestones.append(Milestone(moment_of(line[0]), CUT))
                return
            yield line

    def _begin_retrace(self, replay: Replay, at: int) -> Retrace:
        """Return a retrace of the pod from the replayed state of the cluster at ``at``."""
        history = self.history
        uid = str(replay.known[POD, history.key]["metadata"].get("uid") or "")
        # This is the first pod of that name, or after a gap another pod that has the same name.
        if uid != history.uid:
            history.since, history.uid, self._pod = moment_of(at), uid, None
            history.milestones, history.attempts = [], []
            decisions = decisions_of_pod(history.cluster, *history.key.split("/", 1)).filter(uid=history.uid)
            self._decisions = list(decisions.order_by("at", "attempt")[:MOST_TRIES])
            history.kept = bool(self._decisions)
        self._note_milestones(replay.known[POD, history.key], at)
        spec = replay.known[POD, history.key].get("spec") or {}
        scheduler_name = str(spec.get("schedulerName") or DEFAULT_SCHEDULER)
        scheduler = find_responsible_schedulers(history.cluster, history.revision, {scheduler_name})[scheduler_name]
        history.revision = scheduler.revision or history.revision
        # Retrace by the revision that decided then, which may be older than the one in force now.
        revision = (
            next((decision.revision for decision in self._decisions if decision.revision), None) or history.revision
        )
        retrace = Retrace(
            load_configuration(revision), history.key, [_outcome_of(decision) for decision in self._decisions]
        )
        retrace.start_at(replay.objects, at / 1e6)
        if retrace.group:
            history.group = retrace.group
        return retrace

    def _apply_change(self, replay: Replay, retrace: Retrace, line: Line) -> None:
        at, how, kind, key = line[:4]
        old = replay.known.get((kind, key))
        if old is not None and how != REMOVED:
            # The line patches the object in place, and the loop must keep the old one to compare.
            replay.known[kind, key] = copy.deepcopy(old)
        replay.apply_line(line)
        new = replay.known.get((kind, key))
        retrace.apply_change(kind, key, old, new, at / 1e6)
        if (kind, key) == (POD, self.history.key):
            self._note_milestones(new, at)

    def _note_milestones(self, new: Json | None, at: int) -> None:
        """Add the milestones that the pod's new object shows. The history is over once the pod ran or was deleted."""
        news = [(DELETED, "")] if new is None else [*_find_milestones(self._pod, new)]
        self.history.milestones += [Milestone(moment_of(at), kind, detail) for kind, detail in news]
        self.is_over = self.is_over or any(kind in LAST for kind, _ in news)
        self._pod = new

    def _finish_stretch(self, retrace: Retrace, stretch: Stretch) -> None:
        """Add what the retrace found until the end of the stretch, or of the history."""
        history = self.history
        if not self.is_over:
            history.until = moment_of(stretch.until)
        elif not any(milestone.kind == CUT for milestone in history.milestones):
            history.until = history.milestones[-1].at
        # A pod that still waits may have been retried by the timers alone, without any further change.
        if not history.node and self._pod is not None and history.until is not None:
            retrace.pass_time(to_micros(history.until) / 1e6)
        decisions_by_time = {decision.at.timestamp(): decision for decision in self._decisions}
        history.attempts += [
            PlacementAttempt(_moment_at(attempt.at), attempt, decisions_by_time.get(attempt.at))
            for attempt in retrace.tries
        ]
        history.recent_changes, history.recent_change_count = (
            [(_moment_at(change.at), change) for change in retrace.last_changes[0]],
            retrace.last_changes[1],
        )
        history.capped = history.capped or retrace.capped


def _find_milestones(old: Json | None, new: Json) -> Iterator[tuple[str, str]]:
    """Yield each milestone between two states of a pod: (kind, detail)."""
    before, spec = (old or {}).get("spec") or {}, new.get("spec") or {}
    if old is None:
        yield CREATED, str(new["metadata"].get("creationTimestamp") or "")
    gates, had = _gate_names(spec), _gate_names(before)
    if gates and gates != had:
        yield GATED, ", ".join(gates)
    if had and not gates:
        yield UNGATED, ""
    if (node := spec.get("nodeName")) and not before.get("nodeName"):
        yield BOUND, str(node)
    phase = str((new.get("status") or {}).get("phase") or "")
    if phase != str(((old or {}).get("status") or {}).get("phase") or ""):
        if phase == "Running":
            yield STARTED, ""
        elif phase in ("Succeeded", "Failed"):
            yield ENDED, phase


def _gate_names(spec: Json) -> list[str]:
    return [str(gate.get("name")) for gate in spec.get("schedulingGates") or []]


def _outcome_of(decision: LiveDecision) -> RetracedTry:
    return RetracedTry(
        decision.at.timestamp(),
        decision.node,
        decision.message,
        tuple(decision.rejected_by),
        decision.evaluated,
        decision.feasible,
        "",
    )


def _moment_at(seconds: float) -> datetime:
    return moment_of(round(seconds * 1e6))
