"""The measures of quota queues in a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.actors.queues import figures
from kschedweb.engine.studies.actors.queues.keys import FIELD
from kschedweb.engine.studies.measure import overtime
from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.groups import COST, DISRUPTION, SPEED
from kschedweb.engine.studies.measure.spec import (
    Family,
    MeasureCondition,
    MeasureSpec,
    MeasureSplit,
    Population,
    Window,
)
from kschedweb.engine.studies.measure.values import HIGHER, JOBS, LOWER, NEITHER, PERCENT, SECONDS
from kschedweb.engine.studies.play.outcome import RunOutcome

QUEUED = MeasureCondition("quota queues", lambda run, resource: figures.find_log(run.outcome) is not None, FIELD.name)
QUOTAS = MeasureCondition(
    "quotas of the resource",
    lambda run, resource: (log := figures.find_log(run.outcome)) is not None and resource in log.resources,
    FIELD.name,
)
# Priorities of a run that have measures of their own, the highest of them.
MOST_PRIORITIES = 20


def _list_queues(outcome: RunOutcome) -> list[str]:
    log = figures.find_log(outcome)
    return [] if log is None else sorted(log.queues)


def _list_priorities(outcome: RunOutcome) -> list[str]:
    log = figures.find_log(outcome)
    priorities = set() if log is None else set(log.job_priority.tolist())
    return [str(priority) for priority in sorted(priorities, reverse=True)[:MOST_PRIORITIES]]


BY_QUEUE = MeasureSplit("queue", _list_queues)
BY_PRIORITY = MeasureSplit("priority", _list_priorities)
QUEUE_WAIT = Family(
    "queue_wait",
    SPEED,
    "Time in queue",
    "A job waits in its queue from its arrival until it has quota for the first time. Half of all jobs wait less "
    "than the median, 99 of 100 less than the 99th percentile; jobs that never had quota do not count there: they "
    "are waiting. A job with quota may lack nodes, since quota only counts sums: it is unplaced as long as one of "
    "its pods has no node. Shorter and fewer are better.",
)
QUEUE_EVICTIONS = Family(
    "queue_evictions",
    DISRUPTION,
    "Evictions for quota",
    "A queue takes back what others of its cohort borrow, or makes room for a job of higher priority. The evicted "
    "job stops, waits again, and starts over. Fewer are better.",
)
QUOTA = Family(
    "quota",
    COST,
    "Quota",
    "How much of the nominal quota of all queues is used, and how much of what is used is borrowed from other queues "
    "of a cohort. While jobs wait, more use is better: low use means that quota is in the wrong queue, or may not be "
    "borrowed.",
)
OWN_QUEUE, FAIR_SHARING = "InClusterQueue", "InCohortFairSharing"
RECLAIMED = frozenset({"InCohortReclamation", "InCohortReclaimWhileBorrowing"})
PREEMPTIONS = RECLAIMED | {OWN_QUEUE, FAIR_SHARING}


def _list_courses(run: RunFigures, queue: str = "") -> list[figures.JobCourse]:
    log = figures.find_log(run.outcome)
    courses = [] if log is None else figures.list_courses(log)
    return [course for course in courses if not queue or course.queue == queue]


def _list_waits(run: RunFigures, queue: str = "") -> Floats:
    return figures.list_waits(_list_courses(run, queue))


def _list_waits_at(run: RunFigures, priority: str) -> Floats:
    return figures.list_waits([course for course in _list_courses(run) if str(course.priority) == priority])


def queue_wait_median(run: RunFigures, queue: str = "") -> float | None:
    return overtime.compute_quantile(_list_waits(run, queue), 0.5)


def queue_wait_p99(run: RunFigures, queue: str = "") -> float | None:
    return overtime.compute_quantile(_list_waits(run, queue), 0.99)


def priority_wait_median(run: RunFigures, priority: str) -> float | None:
    return overtime.compute_quantile(_list_waits_at(run, priority), 0.5)


def priority_wait_p99(run: RunFigures, priority: str) -> float | None:
    return overtime.compute_quantile(_list_waits_at(run, priority), 0.99)


def placement_p99(run: RunFigures) -> float | None:
    seconds = [course.count_placement_seconds(run.end) for course in _list_courses(run)]
    return overtime.compute_quantile(np.array([item for item in seconds if item is not None]), 0.99)


def count_waiting_jobs(run: RunFigures) -> float:
    return float(sum(course.is_waiting for course in _list_courses(run)))


def count_unplaced_jobs(run: RunFigures) -> float:
    return float(sum(course.is_unplaced for course in _list_courses(run)))


def _count_evictions(is_counted: Callable[[str], bool]) -> Callable[[RunFigures], float]:
    def count(run: RunFigures) -> float:
        log = figures.find_log(run.outcome)
        counted = figures.count_evictions(log) if log is not None else {}
        return float(sum(number for reason, number in counted.items() if is_counted(reason)))

    return count


def count_loop_evictions(run: RunFigures) -> float:
    log = figures.find_log(run.outcome)
    loops = [] if log is None else figures.list_loops(log)
    return float(sum(edge.count for loop in loops for edge in loop.edges))


def _quota_percent(amount: Callable[[figures.QuotaShare], float]) -> Callable[[RunFigures, str], float | None]:
    def percent(run: RunFigures, resource: str) -> float | None:
        log = figures.find_log(run.outcome)
        if log is None:
            return None
        shares = [share for share in figures.list_shares(log, run.end) if share.resource == resource]
        limited = [share for share in shares if share.nominal is not None]
        whole = float(np.sum([share.nominal for share in limited]))
        return 100.0 * sum(amount(share) for share in limited) / whole if whole else None

    return percent


_WAITS = (
    MeasureSpec(
        "queue_wait_median", "Time in queue, median", SECONDS, LOWER,
        "How long a job waited from its arrival until it had quota.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, queue_wait_median, QUEUED,
    ),
    MeasureSpec(
        "queue_wait_p99", "Time in queue, 99th percentile", SECONDS, LOWER,
        "How long the slowest of a hundred jobs waited from its arrival until it had quota.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, queue_wait_p99, QUEUED,
    ),
    MeasureSpec(
        "job_placement_p99", "Time from quota to nodes, 99th percentile", SECONDS, LOWER,
        "How long the slowest of a hundred jobs with quota took until all of its pods had nodes.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, placement_p99, QUEUED,
    ),
    MeasureSpec(
        "jobs_waiting", "Jobs without quota", JOBS, LOWER, "Jobs that wait for quota at the end.",
        QUEUE_WAIT, Population.JOBS, Window.END, count_waiting_jobs, QUEUED,
    ),
    MeasureSpec(
        "jobs_unplaced", "Jobs with quota and without nodes", JOBS, LOWER,
        "Jobs that have quota at the end while not all of their pods have a node.",
        QUEUE_WAIT, Population.JOBS, Window.END, count_unplaced_jobs, QUEUED,
    ),
)  # fmt: skip
_WAITS_BY_QUEUE = (
    MeasureSpec(
        "queue_wait_median_{}", "Time in queue {}, median", SECONDS, LOWER,
        "How long a job of queue {} waited from its arrival until it had quota.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, queue_wait_median, QUEUED, split=BY_QUEUE,
        like="queue_wait_median",
    ),
    MeasureSpec(
        "queue_wait_p99_{}", "Time in queue {}, 99th percentile", SECONDS, LOWER,
        "How long the slowest of a hundred jobs of queue {} waited from its arrival until it had quota.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, queue_wait_p99, QUEUED, split=BY_QUEUE,
        like="queue_wait_p99",
    ),
)  # fmt: skip
_EVICTIONS = (
    MeasureSpec(
        "jobs_evicted", "Jobs evicted for quota", JOBS, LOWER, "How often a job lost its quota and had to stop.",
        QUEUE_EVICTIONS, Population.JOBS, Window.RUN, _count_evictions(lambda reason: True), QUEUED, happens=True,
    ),
    MeasureSpec(
        "jobs_evicted_priority", "Jobs evicted in their own queue", JOBS, LOWER,
        "How often a job had to stop for one of its own queue.",
        QUEUE_EVICTIONS, Population.JOBS, Window.RUN, _count_evictions(lambda reason: reason == OWN_QUEUE), QUEUED,
        like="jobs_evicted", happens=True,
    ),
    MeasureSpec(
        "jobs_evicted_reclaimed", "Jobs evicted to reclaim quota", JOBS, LOWER,
        "How often a job had to stop because another queue of its cohort took quota back.",
        QUEUE_EVICTIONS, Population.JOBS, Window.RUN, _count_evictions(lambda reason: reason in RECLAIMED), QUEUED,
        like="jobs_evicted", happens=True,
    ),
    MeasureSpec(
        "jobs_evicted_fair", "Jobs evicted for fair sharing", JOBS, LOWER,
        "How often a job had to stop because its queue had more than its fair share.",
        QUEUE_EVICTIONS, Population.JOBS, Window.RUN, _count_evictions(lambda reason: reason == FAIR_SHARING), QUEUED,
        like="jobs_evicted", happens=True,
    ),
    MeasureSpec(
        "jobs_evicted_otherwise", "Jobs evicted for other reasons", JOBS, LOWER,
        "How often a job had to stop for another reason, such as a stopped queue.",
        QUEUE_EVICTIONS, Population.JOBS, Window.RUN, _count_evictions(lambda reason: reason not in PREEMPTIONS),
        QUEUED, like="jobs_evicted", happens=True,
    ),
    MeasureSpec(
        "jobs_evicted_in_loops", "Jobs evicted in loops", JOBS, LOWER,
        "How often a job had to stop for another one that evicts it again and again, while neither gets anywhere.",
        QUEUE_EVICTIONS, Population.JOBS, Window.RUN, count_loop_evictions, QUEUED, like="jobs_evicted", happens=True,
    ),
)  # fmt: skip
_QUOTAS = (
    MeasureSpec(
        "quota_used_{}", "Quota of {} that is used", PERCENT, HIGHER,
        "Share of the nominal quota of {} of all queues that jobs use, on average over time.",
        QUOTA, Population.QUEUES, Window.OVER_TIME, _quota_percent(lambda share: share.used), QUOTAS,
    ),
    MeasureSpec(
        "quota_borrowed_{}", "Quota of {} that is borrowed", PERCENT, NEITHER,
        "What queues use of {} beyond their nominal quota, as a share of all nominal quota, on average over time.",
        QUOTA, Population.QUEUES, Window.OVER_TIME, _quota_percent(lambda share: share.borrowed), QUOTAS,
    ),
    MeasureSpec(
        "quota_lent_{}", "Quota of {} that is lent", PERCENT, NEITHER,
        "What other queues use of the nominal quota of {}, as a share of all nominal quota, on average over time.",
        QUOTA, Population.QUEUES, Window.OVER_TIME, _quota_percent(lambda share: share.lent), QUOTAS,
    ),
)  # fmt: skip
_WAITS_BY_PRIORITY = (
    MeasureSpec(
        "queue_wait_median_priority_{}", "Time in queue at priority {}, median", SECONDS, LOWER,
        "How long a job of priority {} waited from its arrival until it had quota.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, priority_wait_median, QUEUED, split=BY_PRIORITY,
        like="queue_wait_median",
    ),
    MeasureSpec(
        "queue_wait_p99_priority_{}", "Time in queue at priority {}, 99th percentile", SECONDS, LOWER,
        "How long the slowest of a hundred jobs of priority {} waited from its arrival until it had quota.",
        QUEUE_WAIT, Population.JOBS, Window.RUN, priority_wait_p99, QUEUED, split=BY_PRIORITY,
        like="queue_wait_p99",
    ),
)  # fmt: skip
MEASURES = (_EVICTIONS, _QUOTAS, _WAITS, _WAITS_BY_QUEUE, _WAITS_BY_PRIORITY)
