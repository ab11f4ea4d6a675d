"""The history of a pod: its tries, what mattered between them, and when it ran, from what a flight recorder kept."""

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
from kschedweb.engine.live.retrace import MOST_TRIES, RelevantChange, Retrace, RetracedTry
from kschedweb.engine.objects.pod import DEFAULT_SCHEDULER
from kschedweb.live.history.pod_creation import find_birth
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.live.schedulers.selectors import decisions_of_pod
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import load_configuration
from kschedweb.web import moments
from kschedweb.web.errors import NotFound

Json = dict[str, Any]
MOST_LINES, MOST_STRETCHES = 100_000, 20  # changes of the cluster that are looked at, and times between gaps
CREATED, GATED, UNGATED, BOUND, STARTED, ENDED, DELETED = "came", "gated", "ungated", "bound", "ran", "ended", "gone"
GAP, CUT = "gap", "cut"
MILESTONES = (CREATED, GATED, UNGATED, BOUND, STARTED, ENDED, DELETED, GAP, CUT)
LAST = frozenset({STARTED, ENDED, DELETED})
POD = "Pod"


@dataclass(frozen=True)
class Milestone:
    """Something that the cluster says of the pod itself, or a time of which nothing is known (``until``)."""

    at: datetime
    what: str
    detail: str = ""
    until: datetime | None = None

    @property
    def address_moment(self) -> str:
        """The moment as addresses have it."""
        return format_moment_param(self.at)

    @property
    def created(self) -> datetime | None:
        """When the pod was created, where it came."""
        moment = moments.read_moment(self.detail) if self.what == CREATED else None
        return moment if isinstance(moment, datetime) else None


@dataclass(frozen=True)
class PlacementAttempt:
    """A try. ``decision`` is the one that a live scheduler of ours kept; without it the engine answered now."""

    at: datetime
    outcome: RetracedTry
    decision: LiveDecision | None = None

    @property
    def address_moment(self) -> str:
        """The last moment that the try saw, as addresses have it."""
        return format_moment_param(self.at)

    @property
    def mattered(self) -> list[tuple[datetime, RelevantChange]]:
        return [(_moment_at(change.at), change) for change in self.outcome.mattered]

    @property
    def more(self) -> int:
        """How many changes mattered beside those that are named."""
        return self.outcome.mattered_count - len(self.outcome.mattered)


@dataclass
class PodHistory:
    """What is known of one pod, oldest first. ``kept``: the tries are decisions that live schedulers kept."""

    cluster: Cluster
    key: str
    uid: str
    revision: Revision
    kept: bool = False
    since: datetime | None = None
    until: datetime | None = None  # up to when it is told
    milestones: list[Milestone] = field(default_factory=list)
    attempts: list[PlacementAttempt] = field(default_factory=list)
    recent_changes: list[tuple[datetime, RelevantChange]] = field(
        default_factory=list
    )  # what mattered since the last try
    left_count: int = 0
    group: str = ""  # the group that places it, so that no tries of it alone are told
    capped: bool = False

    @property
    def entries(self) -> list[Milestone | PlacementAttempt]:
        """All of it by time; what the cluster says comes before a try at the same time, but for the binding."""
        order = {BOUND: 2, STARTED: 3, ENDED: 3, DELETED: 4}
        both: list[Milestone | PlacementAttempt] = [*self.milestones, *self.attempts]
        return sorted(
            both, key=lambda entry: (entry.at, order.get(entry.what, 0) if isinstance(entry, Milestone) else 1)
        )

    @property
    def complete(self) -> bool:
        """Whether all tries up to ``until`` are told, and ``until`` is not there only because there was too much."""
        return not self.capped and not any(milestone.what == CUT for milestone in self.milestones)

    @property
    def bound_at(self) -> datetime | None:
        """When it got its node."""
        return next((milestone.at for milestone in self.milestones if milestone.what == BOUND), None)

    @property
    def left_more(self) -> int:
        return self.left_count - len(self.recent_changes)

    @property
    def node(self) -> str:
        return next((milestone.detail for milestone in self.milestones if milestone.what == BOUND), "")


def build_history(cluster: Cluster, key: str, revision: Revision, at: datetime | None = None) -> PodHistory:
    """The history of the pod ``key`` that was there last by ``at``, by default now, until it ran or is gone.

    Raises NotFound where no such pod, or nothing at all, was recorded, and Unprocessable for a classic policy.
    """
    load_configuration(revision)
    if at is None:
        last = list_stretches(cluster).last()
        at = moment_of(last.until) if last is not None else timezone.now()
    stretch, first = _find_first(cluster, key, stretch_at(cluster, at), to_micros(at))
    builder = _HistoryBuilder(cluster, key, revision)
    for next_stretch in [stretch, *list_stretches(cluster).filter(began__gt=stretch.began)]:
        builder.follow_stretch(next_stretch, max(first, next_stretch.began))
        if builder.over:
            break
    if not builder.history.uid:
        raise NotFound(f"No pod {key} was recorded in cluster {cluster.name} up to {at:%Y-%m-%d %H:%M:%S} UTC.")
    return builder.history


def _find_first(cluster: Cluster, key: str, stretch: Stretch, at: int) -> tuple[Stretch, int]:
    """The stretch in which the pod came, and when; or the first one in which it was there all the time."""
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
    """Follows the lines of one stretch after the other."""

    def __init__(self, cluster: Cluster, key: str, revision: Revision) -> None:
        self.history = PodHistory(cluster, key, "", revision)
        self.over, self._lines = False, 0
        self._pod: Json | None = None
        self._decisions: list[LiveDecision] = []

    def follow_stretch(self, stretch: Stretch, first: int) -> None:
        """Tell what ``stretch`` knows from ``first`` on."""
        history, replay, retrace = self.history, Replay(), None
        if history.until is not None:
            history.milestones.append(Milestone(history.until, GAP, stretch.reason, moment_of(stretch.began)))
        for line in self._read_lines(stretch, first):
            if retrace is None:
                replay.apply_line(line)
                if (at := line[0]) >= first and (POD, history.key) in replay.known:
                    retrace = self._begin_retrace(replay, at)
            else:
                self._apply_change(replay, retrace, line)
            if self.over:
                break
        if retrace is None and (POD, history.key) in replay.known:
            retrace = self._begin_retrace(replay, first)
        if retrace is not None:
            self._end(retrace, stretch)
        elif history.uid:
            history.milestones.append(Milestone(moment_of(stretch.began), DELETED))
            self.over = True

    def _read_lines(self, stretch: Stretch, first: int) -> Iterator[Any]:
        for line in lines_between(stretch, first, stretch.until):
            self._lines += line[0] >= first
            if self._lines > MOST_LINES:
                self.history.until, self.over = moment_of(line[0]), True
                self.history.milestones.append(Milestone(moment_of(line[0]), CUT))
                return
            yield line

    def _begin_retrace(self, replay: Replay, at: int) -> Retrace:
        history = self.history
        uid = str(replay.known[POD, history.key]["metadata"].get("uid") or "")
        if uid != history.uid:  # the first one, or another one after a gap
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
            replay.known[kind, key] = copy.deepcopy(old)  # it is patched in place, and the loop has the old one
        replay.apply_line(line)
        new = replay.known.get((kind, key))
        retrace.apply_change(kind, key, old, new, at / 1e6)
        if (kind, key) == (POD, self.history.key):
            self._note_milestones(new, at)

    def _note_milestones(self, new: Json | None, at: int) -> None:
        """What the cluster says of the pod itself. With its run, or its end, the history is over."""
        news = [(DELETED, "")] if new is None else [*_find_milestones(self._pod, new)]
        self.history.milestones += [Milestone(moment_of(at), kind, detail) for kind, detail in news]
        self.over = self.over or any(kind in LAST for kind, _ in news)
        self._pod = new

    def _end(self, retrace: Retrace, stretch: Stretch) -> None:
        history = self.history
        if not self.over:
            history.until = moment_of(stretch.until)
        elif not any(milestone.what == CUT for milestone in history.milestones):
            history.until = history.milestones[-1].at
        if not history.node and self._pod is not None and history.until is not None:
            retrace.pass_time(to_micros(history.until) / 1e6)
        decisions_by_time = {decision.at.timestamp(): decision for decision in self._decisions}
        history.attempts += [
            PlacementAttempt(_moment_at(attempt.at), attempt, decisions_by_time.get(attempt.at))
            for attempt in retrace.tries
        ]
        history.recent_changes, history.left_count = (
            [(_moment_at(change.at), change) for change in retrace.last_changes[0]],
            retrace.last_changes[1],
        )
        history.capped = history.capped or retrace.capped


def _find_milestones(old: Json | None, new: Json) -> Iterator[tuple[str, str]]:
    """What is new of a pod: (which milestone, its detail)."""
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
