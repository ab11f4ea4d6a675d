"""Figures of quota queues in a run: how long jobs waited, what was used and borrowed, and who was evicted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from kschedweb.engine.queueing.preemption.preemption_loops import LoopStep, PreemptionLoop, WorkloadStep, find_loops
from kschedweb.engine.queueing.quota.amounts import UNLIMITED
from kschedweb.engine.simulation.quota_queues.reports import JobStep
from kschedweb.engine.state.columns import Floats, Ints
from kschedweb.engine.studies.actors.queues.columns import RECORD, QueueLog
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.values import dataclass


@dataclass(slots=True, eq=False)
class JobCourse:
    """The course of one job; times are seconds from the beginning, None for never."""

    name: str
    # "" for none.
    queue: str
    priority: int
    pods: int
    queued: float
    # When it had quota for the first time, and the last time.
    first_quota: float | None = None
    last_quota: float | None = None
    # When all its pods were on nodes, after it had quota for the last time.
    running: float | None = None
    ended: float | None = None
    # True if it was withdrawn before it had quota.
    is_withdrawn: bool = False
    evictions: int = 0
    # What it has quota for now: how many pods, and the flavors; the reason of its last eviction.
    quota_pods: int = 0
    flavors: str = ""
    reason: str = ""
    has_quota: bool = False
    # From when to when it had quota; the last end is None while it has it.
    spells: list[tuple[float, float | None]] = field(default_factory=list)

    @property
    def wait(self) -> float | None:
        """The seconds from its arrival until it had quota."""
        return None if self.first_quota is None else self.first_quota - self.queued

    def count_placement_seconds(self, end: float) -> float | None:
        """Return the seconds from when it had quota last until all its pods had nodes, or to its or the run's end."""
        if self.last_quota is None:
            return None
        until = next(time for time in (self.running, self.ended, end) if time is not None)
        return max(0.0, until - self.last_quota)

    @property
    def is_waiting(self) -> bool:
        return not self.has_quota and self.ended is None

    @property
    def is_unplaced(self) -> bool:
        """True if it has quota while not all of its pods are on nodes."""
        return self.has_quota and self.running is None and self.ended is None


def find_log(outcome: RunOutcome) -> QueueLog | None:
    """Return what the run recorded of quota queues; None if it had none."""
    log = outcome.further.get(RECORD)
    return log if isinstance(log, QueueLog) else None


def list_courses(log: QueueLog) -> list[JobCourse]:
    """Return the course of each job, in the order of arrival."""
    courses: list[JobCourse] = []
    rows = zip(
        log.time.tolist(), log.job.tolist(), log.step.tolist(), log.pods.tolist(), log.text.tolist(), strict=True
    )
    for time, job, step, pods, text in rows:
        if step == JobStep.QUEUED:
            queue = int(log.job_queue[job])
            name = log.queues[queue] if queue >= 0 else ""
            courses.append(JobCourse(log.jobs[job], name, int(log.job_priority[job]), pods, time))
            continue
        _take_step(courses[job], JobStep(step), time, pods, log.texts[text] if text >= 0 else "")
    return courses


def _take_step(course: JobCourse, step: JobStep, time: float, pods: int, text: str) -> None:
    if course.has_quota and step in (JobStep.EVICTED, JobStep.FINISHED):
        course.spells[-1] = course.spells[-1][0], time
    if step is JobStep.ADMITTED:
        course.spells.append((time, None))
        course.first_quota = time if course.first_quota is None else course.first_quota
        course.last_quota, course.running, course.has_quota = time, None, True
        course.quota_pods, course.flavors = pods, text
    elif step is JobStep.RUNNING:
        course.running = time
    elif step is JobStep.EVICTED:
        course.evictions, course.reason, course.has_quota, course.running = course.evictions + 1, text, False, None
    else:
        course.ended, course.has_quota, course.is_withdrawn = time, False, step is JobStep.WITHDRAWN


# How the number of jobs that wait changes with a step.
_WAITING = {JobStep.QUEUED: 1, JobStep.ADMITTED: -1, JobStep.EVICTED: 1, JobStep.WITHDRAWN: -1}


def count_waiting(log: QueueLog, queue: str = "") -> tuple[Floats, Ints]:
    """Return when the number of jobs that wait changes, of a queue or of all, and the number from then on."""
    changes = np.zeros(max(JobStep) + 1, dtype=np.int64)
    for step, change in _WAITING.items():
        changes[step] = change
    deltas = changes[log.step]
    counted = deltas != 0
    if queue:
        counted &= log.job_queue[log.job] == log.queues.index(queue)
    times, places = np.unique(log.time[counted], return_inverse=True)
    return times, np.cumsum(np.bincount(places, weights=deltas[counted], minlength=len(times))).astype(np.int64)


def count_evictions(log: QueueLog) -> Counter[str]:
    """Return the number of evictions by reason."""
    evicted = log.text[log.step == JobStep.EVICTED].tolist()
    return Counter(log.texts[code] if code >= 0 else "" for code in evicted)


def list_loops(log: QueueLog) -> list[PreemptionLoop]:
    """Return the jobs that evict each other again and again, the most frequent ones first."""
    return find_loops(_iterate_loop_steps(log))


# Steps that a loop is made of, and those that end one.
_LOOP_STEPS = {
    JobStep.ADMITTED: LoopStep.ADMITTED,
    JobStep.EVICTED: LoopStep.EVICTED,
    JobStep.FINISHED: LoopStep.FINISHED,
    JobStep.WITHDRAWN: LoopStep.FINISHED,
}


def _iterate_loop_steps(log: QueueLog) -> Iterator[WorkloadStep]:
    if not log.preemptor.size:
        return
    columns = (log.time, log.job, log.step, log.text, log.preemptor)
    for time, job, step, text, preemptor in zip(*(column.tolist() for column in columns), strict=True):
        kind = _LOOP_STEPS.get(JobStep(step))
        if kind is not None:
            by = log.jobs[preemptor] if preemptor >= 0 else ""
            yield WorkloadStep(time, log.jobs[job], kind, by, log.texts[text] if text >= 0 else "")


def list_waits(courses: list[JobCourse]) -> Floats:
    """Return the seconds that each job waited that had quota."""
    return np.array([course.wait for course in courses if course.wait is not None], dtype=np.float64)


def waits_by_queue(courses: list[JobCourse]) -> dict[tuple[str, int], list[JobCourse]]:
    """Return the jobs by queue and priority, the highest priority of a queue first."""
    grouped: dict[tuple[str, int], list[JobCourse]] = defaultdict(list)
    for course in courses:
        grouped[course.queue, course.priority].append(course)
    return dict(sorted(grouped.items(), key=lambda item: (item[0][0], -item[0][1])))


@dataclass(frozen=True, slots=True)
class QuotaShare:
    """A line of quota over a run: means over time, in milli-CPU or whole units."""

    queue: str
    cohort: str
    flavor: str
    resource: str
    # None for unlimited.
    nominal: int | None
    used: float
    borrowed: float
    # What others of the cohort use of it: theirs is taken evenly out of what is idle.
    lent: float
    most_used: int


def list_shares(log: QueueLog, end: float) -> list[QuotaShare]:
    """Return each line of quota with its means over the run."""
    times, levels = sample_levels(log)
    weights = np.diff(np.append(times, max(end, float(times[-1]) if times.size else 0.0)))
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(times), 1.0 / max(1, len(times)))
    borrowed, lent = split_levels(log, levels)
    shares = []
    for line in range(len(log.nominal)):
        cohort, nominal = int(log.line_cohort[line]), int(log.nominal[line])
        shares.append(
            QuotaShare(
                log.queues[log.line_queue[line]],
                log.cohorts[cohort] if cohort >= 0 else "",
                log.flavors[log.line_flavor[line]],
                log.resources[log.line_resource[line]],
                None if nominal >= UNLIMITED else nominal,
                float(levels[:, line] @ weights),
                float(borrowed[:, line] @ weights),
                float(lent[:, line] @ weights),
                int(levels[:, line].max(initial=0)),
            )
        )
    return shares


def sample_levels(log: QueueLog) -> tuple[Floats, Ints]:
    """Return the times at which the use of quota changes, and the use from then on. Shapes [times], [times, lines]."""
    times = np.unique(log.used_time)
    levels = np.zeros((len(times), len(log.nominal)), dtype=np.int64)
    for line in range(len(log.nominal)):
        is_own = log.used_line == line
        # Of several changes at one time the last one counts.
        before = np.searchsorted(log.used_time[is_own], times, side="right")
        levels[:, line] = np.append(0, log.used[is_own])[before]
    return times, levels


def split_levels(log: QueueLog, levels: Ints) -> tuple[Floats, Floats]:
    """Return what each line borrows and lends at each time. Shape [times, lines] each.

    Kueue has no figure of what a queue lends: what a cohort's queues borrow is taken evenly out of the idle quota of
    the others that they may lend.
    """
    is_shared = log.line_cohort >= 0
    nominal = np.where(is_shared, log.nominal, 0).astype(np.float64)
    borrowed = np.where(is_shared, np.maximum(0.0, levels - nominal), 0.0)
    idle = np.where(is_shared, np.minimum(np.maximum(0.0, nominal - levels), log.lendable), 0.0)
    lent = np.zeros_like(idle)
    groups = defaultdict(list)
    for line, key in enumerate(
        zip(log.line_cohort.tolist(), log.line_flavor.tolist(), log.line_resource.tolist(), strict=True)
    ):
        groups[key].append(line)
    for lines in groups.values():
        total, lent_sum = idle[:, lines].sum(axis=1), borrowed[:, lines].sum(axis=1)
        share = np.divide(np.minimum(lent_sum, total), total, out=np.zeros_like(total), where=total > 0.0)
        lent[:, lines] = idle[:, lines] * share[:, None]
    return borrowed, lent
