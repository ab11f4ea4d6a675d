"""Forecast of a workload's quota: cycles played from now, with what is known of how long jobs run."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from enum import Enum

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_integer, get_mapping
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.queueing.cycle.cycle import QuotaScheduler
from kschedweb.engine.queueing.explaining.queue_state import QueueState, build_state
from kschedweb.engine.queueing.preemption.preemption_loops import LoopStep, PreemptionLoop, WorkloadStep, find_loops
from kschedweb.engine.queueing.quota.objects import get_name, get_namespace
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.workload import PENDING, Workload
from kschedweb.engine.queueing.world import CycleLog
from kschedweb.engine.values import dataclass

# Cycles of a forecast; past these nothing is told.
_MOST_CYCLES = 3000


class RunTimeSource(Enum):
    """Sources of a forecast's run times, from the best to the worst."""

    LOCAL_QUEUE = "finished workloads of its LocalQueue"
    CLUSTER_QUEUE = "finished workloads of its ClusterQueue"
    ALL = "finished workloads of the cluster"
    ASSUMED = "assumed"
    LIMIT = "maximumExecutionTimeSeconds"
    UNKNOWN = "unknown"


class ForecastEnd(Enum):
    """Ends of a forecast's play."""

    ADMITTED = "admitted"
    # Nothing happens any more, and it still waits.
    NEVER = "never"
    # It still waits after the most cycles that are played.
    LATER = "later"


@dataclass(frozen=True, slots=True)
class RunTimeRange:
    """Range of the run times of jobs, in seconds."""

    short: float
    long: float
    # How many finished workloads tell so.
    samples: int
    source: RunTimeSource


@dataclass(frozen=True)
class ForecastPlay:
    """One play with short or long run times."""

    end: ForecastEnd
    # Seconds from now until it gets quota; None unless it does.
    seconds: float | None
    cycles: int
    # Workloads that finish before, and that are evicted.
    finished: int
    evicted: int
    # Workloads that evict each other again and again meanwhile.
    loops: tuple[PreemptionLoop, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """Forecast of the time when a workload gets quota."""

    # None if nothing is known of how long jobs run.
    run_times: RunTimeRange | None
    early: ForecastPlay | None
    late: ForecastPlay | None
    # True if admission checks are taken as passed at once.
    assumes_checks: bool = False

    @property
    def is_known(self) -> bool:
        return self.early is not None

    @property
    def loops(self) -> tuple[PreemptionLoop, ...]:
        """The loops of preemption that either play came to."""
        plays = [play for play in (self.late, self.early) if play is not None]
        return next((play.loops for play in plays if play.loops), ())


class RunTimes:
    """Run times of the workloads of a state."""

    def __init__(self, state: QueueState, assumed: float | None) -> None:
        self._state = state
        self._assumed = assumed
        self._limits = {key: limit for key, limit in map(_read_limit, state.objects) if limit}
        self._by_local_queue: dict[str, list[float]] = {}
        self._by_queue: dict[str, list[float]] = {}
        self._all: list[float] = []
        for workload in state.world.workloads.values():
            seconds = _measure_run(workload)
            if seconds is not None:
                self._by_local_queue.setdefault(workload.queue_key, []).append(seconds)
                self._by_queue.setdefault(state.find_queue_name(workload), []).append(seconds)
                self._all.append(seconds)

    def find_range(self, workload: Workload) -> RunTimeRange | None:
        """Return how long ``workload`` runs; None if nothing is known."""
        limit = self._limits.get(workload.key)
        expected_range = self._find_expected(workload)
        if expected_range is None:
            return None if limit is None else RunTimeRange(limit, limit, 0, RunTimeSource.LIMIT)
        if limit is None:
            return expected_range
        return RunTimeRange(
            min(expected_range.short, limit),
            min(expected_range.long, limit),
            expected_range.samples,
            expected_range.source,
        )

    def _find_expected(self, workload: Workload) -> RunTimeRange | None:
        if self._assumed is not None:
            return RunTimeRange(self._assumed, self._assumed, 0, RunTimeSource.ASSUMED)
        for samples, source in (
            (self._by_local_queue.get(workload.queue_key), RunTimeSource.LOCAL_QUEUE),
            (self._by_queue.get(self._state.find_queue_name(workload)), RunTimeSource.CLUSTER_QUEUE),
            (self._all, RunTimeSource.ALL),
        ):
            if samples:
                return RunTimeRange(_quantile(samples, 0.25), _quantile(samples, 0.75), len(samples), source)
        return None


def _quantile(samples: list[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _read_limit(raw: Json) -> tuple[str, int]:
    """Return a Workload's key and its longest run in seconds, 0 for none."""
    if raw.get("kind") != "Workload":
        return "", 0
    try:
        seconds = get_integer(get_mapping(raw, "spec"), "maximumExecutionTimeSeconds", path="spec.")
    except ObjectError:
        seconds = 0
    return f"{get_namespace(raw)}/{get_name(raw)}", seconds


def _measure_run(workload: Workload) -> float | None:
    """Return how long a finished workload ran; None if its conditions do not tell."""
    finished, admitted = (workload.find_condition(kind) for kind in (kinds.FINISHED, kinds.ADMITTED))
    if finished is None or not finished.is_true or admitted is None or not admitted.since or not finished.since:
        return None
    return max(0.0, finished.since - admitted.since)


def forecast_admission(state: QueueState, key: str, assumed: float | None = None) -> Forecast:
    """Return when the workload ``key`` gets quota, if nobody adds or changes anything.

    ``assumed`` is how long every job runs, in seconds; without it finished workloads tell.
    """
    run_times = RunTimes(state, assumed)
    own_range = run_times.find_range(state.find_workload(key))
    # One range is told: that of the workloads that run before it.
    ranges = [run_times.find_range(workload) for workload in state.world.workloads.values() if workload.has_quota]
    run_time_range = own_range or next((item for item in ranges if item is not None), None)
    if run_time_range is None or any(item is None for item in ranges):
        return Forecast(None, None, None)
    early, late = (_ForecastRun(state, run_times, key, is_short=is_short).play() for is_short in (True, False))
    if early.seconds is not None and late.seconds is not None and early.seconds > late.seconds:
        early, late = late, early
    return Forecast(run_time_range, early, late, _has_checks(state))


def _has_checks(state: QueueState) -> bool:
    return any(queue.checks for queue in state.world.cluster_queues.values())


class _ForecastRun:
    """A play of cycles, in which workloads that run finish."""

    def __init__(self, state: QueueState, run_times: RunTimes, key: str, *, is_short: bool) -> None:
        # The play changes its state, so it gets one of its own.
        self._state = build_state(state.objects, state.now, uses_fair_sharing=state.uses_fair_sharing)
        self._world = self._state.world
        self._controllers = self._state.controllers
        self._scheduler = QuotaScheduler(self._world, self._controllers.make_pods_ready)
        self._run_times = run_times
        self._key = key
        self._is_short = is_short
        # (when, workload) of those that run.
        self._ends: list[tuple[float, str]] = []
        self._running: set[str] = set()
        self._finished = 0
        self._evicted: set[str] = set()
        # Those that are evicted now, and the steps of all.
        self._evicting: set[str] = set()
        self._steps: list[WorkloadStep] = []

    def play(self) -> ForecastPlay:
        """Run cycles until the workload has quota, or nothing happens any more."""
        begin, world = self._world.now, self._world
        for cycle in range(1, _MOST_CYCLES + 1):
            checkpoint()
            before = dict(world.workloads)
            world.log = CycleLog()
            self._finish_due()
            self._controllers.settle(cycle)
            self._scheduler.run_cycle()
            self._controllers.settle(cycle)
            self._controllers.pass_checks()
            self._note_evictions()
            self._note_runs()
            target = world.workloads.get(self._key)
            if target is not None and target.has_quota and not target.is_evicted:
                return self._describe(ForecastEnd.ADMITTED, world.now - begin, cycle)
            if not self._advance(before):
                return self._describe(ForecastEnd.NEVER, None, cycle)
        return self._describe(ForecastEnd.LATER, None, _MOST_CYCLES)

    def _describe(self, end: ForecastEnd, seconds: float | None, cycles: int) -> ForecastPlay:
        loops = tuple(find_loops(self._steps))
        return ForecastPlay(end, seconds, cycles, self._finished, len(self._evicted), loops)

    def _finish_due(self) -> None:
        """Finish the jobs whose time is over."""
        while self._ends and self._ends[0][0] <= self._world.now:
            _, key = heapq.heappop(self._ends)
            workload = self._world.workloads.get(key)
            if key in self._running and workload is not None and workload.has_quota and not workload.is_evicted:
                self._controllers.finish(workload)
                self._finished += 1
                self._steps.append(WorkloadStep(self._world.now, key, LoopStep.FINISHED))
            self._running.discard(key)

    def _note_evictions(self) -> None:
        for record in self._world.log.preempted:
            # Whoever is evicted already is named again by the cycles in which it still stops.
            if record.key not in self._evicting:
                self._evicting.add(record.key)
                now = self._world.now
                self._steps.append(WorkloadStep(now, record.key, LoopStep.EVICTED, record.preemptor, record.reason))

    def _note_runs(self) -> None:
        """Note the ends of the jobs that have begun, and forget those that were evicted."""
        for workload in self._world.workloads.values():
            key = workload.key
            if workload.is_evicted:
                self._evicted.add(key)
                self._running.discard(key)
            elif workload.has_quota and not workload.is_finished and key not in self._running:
                self._running.add(key)
                self._evicting.discard(key)
                self._steps.append(WorkloadStep(self._world.now, key, LoopStep.ADMITTED))
                heapq.heappush(self._ends, (self._find_end(workload), key))

    def _find_end(self, workload: Workload) -> float:
        run_range = self._run_times.find_range(workload)
        assert run_range is not None, "a forecast is made only if all run times are known"
        seconds = run_range.short if self._is_short else run_range.long
        since = next(
            (
                condition.since
                for kind in (kinds.ADMITTED, kinds.QUOTA_RESERVED)
                if (condition := workload.find_condition(kind)) is not None and condition.is_true and condition.since
            ),
            self._world.now,
        )
        remaining = seconds - (self._world.now - since)
        if remaining <= 0:
            # It has run for longer than is known: at best it ends now, at worst after as long again.
            remaining = 0.0 if self._is_short else seconds
        return self._world.now + max(1.0, remaining)

    def _advance(self, before: dict[str, Workload]) -> bool:
        """Move the clock to what happens next; return False if nothing does."""
        world = self._world
        if self._controllers.is_evicting or _differs(before.values(), world.workloads.values()):
            world.now += 1
        else:
            due = [self._ends[0][0]] if self._ends else []
            due += [
                workload.status.requeue_at
                for workload in world.workloads.values()
                if workload.status.requeue_at is not None and workload.state == PENDING
            ]
            later = [when for when in due if when > world.now]
            if not later:
                return False
            world.now = min(later)
        world.queues.second_pass.advance(world.now, world.factory.create)
        return True


def _differs(before: Iterable[Workload], after: Iterable[Workload]) -> bool:
    """Return True if a workload got quota, lost it, or was evicted."""
    return [_describe_reservation(workload) for workload in before] != [
        _describe_reservation(workload) for workload in after
    ]


def _describe_reservation(workload: Workload) -> tuple[str, str, bool]:
    return workload.key, workload.state, workload.is_evicted
