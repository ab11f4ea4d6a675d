"""The history of a pod: its tries, what mattered between them, and when it ran, from what a flight recorder kept."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from kschedweb.clusters.flight.asof import written
from kschedweb.clusters.flight.models import Stretch
from kschedweb.clusters.flight.selectors import lines_between, micros, moment_of, stretch_at, stretches
from kschedweb.clusters.flight.track import GONE, Line, Replay
from kschedweb.clusters.models import Cluster
from kschedweb.decisions.responsibility import find_responsible_schedulers
from kschedweb.engine.live.retracing import MOST_TRIES, Mattered, Retrace, Tried
from kschedweb.engine.objects.pod import DEFAULT_SCHEDULER
from kschedweb.live.history.birth import began
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.live.schedulers.selectors import decisions_of_pod
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import configuration
from kschedweb.web import moments
from kschedweb.web.errors import NotFound

Json = dict[str, Any]
MOST_LINES, MOST_STRETCHES = 100_000, 20  # changes of the cluster that are looked at, and times between gaps
CAME, HELD, FREED, BOUND, RAN, ENDED, GONE_AWAY = "came", "gated", "ungated", "bound", "ran", "ended", "gone"
GAP, CUT = "gap", "cut"
MILESTONES = (CAME, HELD, FREED, BOUND, RAN, ENDED, GONE_AWAY, GAP, CUT)
LAST = frozenset({RAN, ENDED, GONE_AWAY})
POD = "Pod"


@dataclass(frozen=True)
class Milestone:
    """Something that the cluster says of the pod itself, or a time of which nothing is known (``until``)."""

    at: datetime
    what: str
    detail: str = ""
    until: datetime | None = None

    @property
    def written(self) -> str:
        """The moment as addresses have it."""
        return written(self.at)

    @property
    def created(self) -> datetime | None:
        """When the pod was created, where it came."""
        found = moments.read(self.detail) if self.what == CAME else None
        return found if isinstance(found, datetime) else None


@dataclass(frozen=True)
class Attempt:
    """A try. ``decision`` is the one that a live scheduler of ours kept; without it the engine answered now."""

    at: datetime
    tried: Tried
    decision: LiveDecision | None = None

    @property
    def written(self) -> str:
        """The last moment that the try saw, as addresses have it."""
        return written(self.at)

    @property
    def mattered(self) -> list[tuple[datetime, Mattered]]:
        return [(_moment(one.at), one) for one in self.tried.mattered]

    @property
    def more(self) -> int:
        """How many changes mattered beside those that are named."""
        return self.tried.mattered_count - len(self.tried.mattered)


@dataclass
class History:
    """What is known of one pod, oldest first. ``kept``: the tries are decisions that live schedulers kept."""

    cluster: Cluster
    key: str
    uid: str
    revision: Revision
    kept: bool = False
    since: datetime | None = None
    until: datetime | None = None  # up to when it is told
    milestones: list[Milestone] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    left: list[tuple[datetime, Mattered]] = field(default_factory=list)  # what mattered since the last try
    left_count: int = 0
    group: str = ""  # the group that places it, so that no tries of it alone are told
    capped: bool = False

    @property
    def entries(self) -> list[Milestone | Attempt]:
        """All of it by time; what the cluster says comes before a try at the same time, but for the binding."""
        order = {BOUND: 2, RAN: 3, ENDED: 3, GONE_AWAY: 4}
        both: list[Milestone | Attempt] = [*self.milestones, *self.attempts]
        return sorted(both, key=lambda one: (one.at, order.get(one.what, 0) if isinstance(one, Milestone) else 1))

    @property
    def complete(self) -> bool:
        """Whether all tries up to ``until`` are told, and ``until`` is not there only because there was too much."""
        return not self.capped and not any(one.what == CUT for one in self.milestones)

    @property
    def bound_at(self) -> datetime | None:
        """When it got its node."""
        return next((one.at for one in self.milestones if one.what == BOUND), None)

    @property
    def left_more(self) -> int:
        return self.left_count - len(self.left)

    @property
    def node(self) -> str:
        return next((one.detail for one in self.milestones if one.what == BOUND), "")


def history(cluster: Cluster, key: str, revision: Revision, at: datetime | None = None) -> History:
    """The history of the pod ``key`` that was there last by ``at``, by default now, until it ran or is gone.

    Raises NotFound where no such pod, or nothing at all, was recorded, and Unprocessable for a classic policy.
    """
    configuration(revision)
    if at is None:
        last = stretches(cluster).last()
        at = moment_of(last.until) if last is not None else timezone.now()
    stretch, first = _first(cluster, key, stretch_at(cluster, at), micros(at))
    found = _Told(cluster, key, revision)
    for one in [stretch, *stretches(cluster).filter(began__gt=stretch.began)]:
        found.follow(one, max(first, one.began))
        if found.over:
            break
    if not found.history.uid:
        raise NotFound(f"No pod {key} was recorded in cluster {cluster.name} up to {at:%Y-%m-%d %H:%M:%S} UTC.")
    return found.history


def _first(cluster: Cluster, key: str, stretch: Stretch, at: int) -> tuple[Stretch, int]:
    """The stretch in which the pod came, and when; or the first one in which it was there all the time."""
    earlier = stretches(cluster).filter(began__lt=stretch.began).order_by("-began")[:MOST_STRETCHES]
    last = stretch
    for one in (stretch, *earlier):
        first, there = began(one, key, min(at, one.until))
        if first is not None:
            return one, first
        if not there:
            break
        last = one
    return last, last.began


class _Told:
    """Follows the lines of one stretch after the other."""

    def __init__(self, cluster: Cluster, key: str, revision: Revision) -> None:
        self.history = History(cluster, key, "", revision)
        self.over, self._lines = False, 0
        self._pod: Json | None = None
        self._decisions: list[LiveDecision] = []

    def follow(self, stretch: Stretch, first: int) -> None:
        """Tell what ``stretch`` knows from ``first`` on."""
        told, replay, retrace = self.history, Replay(), None
        if told.until is not None:
            told.milestones.append(Milestone(told.until, GAP, stretch.reason, moment_of(stretch.began)))
        for line in self._changes(stretch, first):
            if retrace is None:
                replay.take(line)
                if (at := line[0]) >= first and (POD, told.key) in replay.known:
                    retrace = self._begin(replay, at)
            else:
                self._change(replay, retrace, line)
            if self.over:
                break
        if retrace is None and (POD, told.key) in replay.known:
            retrace = self._begin(replay, first)
        if retrace is not None:
            self._end(retrace, stretch)
        elif told.uid:
            told.milestones.append(Milestone(moment_of(stretch.began), GONE_AWAY))
            self.over = True

    def _changes(self, stretch: Stretch, first: int) -> Iterator[Any]:
        for line in lines_between(stretch, first, stretch.until):
            self._lines += line[0] >= first
            if self._lines > MOST_LINES:
                self.history.until, self.over = moment_of(line[0]), True
                self.history.milestones.append(Milestone(moment_of(line[0]), CUT))
                return
            yield line

    def _begin(self, replay: Replay, at: int) -> Retrace:
        told = self.history
        uid = str(replay.known[POD, told.key]["metadata"].get("uid") or "")
        if uid != told.uid:  # the first one, or another one after a gap
            told.since, told.uid, self._pod = moment_of(at), uid, None
            told.milestones, told.attempts = [], []
            found = decisions_of_pod(told.cluster, *told.key.split("/", 1)).filter(uid=told.uid)
            self._decisions = list(found.order_by("at", "attempt")[:MOST_TRIES])
            told.kept = bool(self._decisions)
        self._says(replay.known[POD, told.key], at)
        spec = replay.known[POD, told.key].get("spec") or {}
        scheduler_name = str(spec.get("schedulerName") or DEFAULT_SCHEDULER)
        scheduler = find_responsible_schedulers(told.cluster, told.revision, {scheduler_name})[scheduler_name]
        told.revision = scheduler.revision or told.revision
        revision = next((one.revision for one in self._decisions if one.revision), None) or told.revision
        retrace = Retrace(configuration(revision), told.key, [_given(one) for one in self._decisions])
        retrace.begin(replay.objects, at / 1e6)
        if retrace.group:
            told.group = retrace.group
        return retrace

    def _change(self, replay: Replay, retrace: Retrace, line: Line) -> None:
        at, how, kind, key = line[:4]
        old = replay.known.get((kind, key))
        if old is not None and how != GONE:
            replay.known[kind, key] = copy.deepcopy(old)  # it is patched in place, and the loop has the old one
        replay.take(line)
        new = replay.known.get((kind, key))
        retrace.change(kind, key, old, new, at / 1e6)
        if (kind, key) == (POD, self.history.key):
            self._says(new, at)

    def _says(self, new: Json | None, at: int) -> None:
        """What the cluster says of the pod itself. With its run, or its end, the history is over."""
        news = [(GONE_AWAY, "")] if new is None else [*_news(self._pod, new)]
        self.history.milestones += [Milestone(moment_of(at), what, detail) for what, detail in news]
        self.over = self.over or any(what in LAST for what, _ in news)
        self._pod = new

    def _end(self, retrace: Retrace, stretch: Stretch) -> None:
        told = self.history
        if not self.over:
            told.until = moment_of(stretch.until)
        elif not any(one.what == CUT for one in told.milestones):
            told.until = told.milestones[-1].at
        if not told.node and self._pod is not None and told.until is not None:
            retrace.pass_time(micros(told.until) / 1e6)
        kept = {one.at.timestamp(): one for one in self._decisions}
        told.attempts += [Attempt(_moment(one.at), one, kept.get(one.at)) for one in retrace.tries]
        told.left, told.left_count = [(_moment(one.at), one) for one in retrace.left[0]], retrace.left[1]
        told.capped = told.capped or retrace.capped


def _news(old: Json | None, new: Json) -> Iterator[tuple[str, str]]:
    """What is new of a pod: (which milestone, its detail)."""
    before, spec = (old or {}).get("spec") or {}, new.get("spec") or {}
    if old is None:
        yield CAME, str(new["metadata"].get("creationTimestamp") or "")
    gates, had = _gates(spec), _gates(before)
    if gates and gates != had:
        yield HELD, ", ".join(gates)
    if had and not gates:
        yield FREED, ""
    if (node := spec.get("nodeName")) and not before.get("nodeName"):
        yield BOUND, str(node)
    phase = str((new.get("status") or {}).get("phase") or "")
    if phase != str(((old or {}).get("status") or {}).get("phase") or ""):
        if phase == "Running":
            yield RAN, ""
        elif phase in ("Succeeded", "Failed"):
            yield ENDED, phase


def _gates(spec: Json) -> list[str]:
    return [str(gate.get("name")) for gate in spec.get("schedulingGates") or []]


def _given(decision: LiveDecision) -> Tried:
    return Tried(
        decision.at.timestamp(),
        decision.node,
        decision.message,
        tuple(decision.rejected_by),
        decision.evaluated,
        decision.feasible,
        "",
    )


def _moment(seconds: float) -> datetime:
    return moment_of(round(seconds * 1e6))
