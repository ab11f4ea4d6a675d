"""Rows of quota queues in a run: how long jobs waited by queue and priority, each job, and the use of quota."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from django.utils.translation import gettext, ngettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.actors.queues import figures
from kschedweb.engine.studies.measure import overtime
from kschedweb.playground.runs.rows import LazyRows
from kschedweb.playground.runs.sections import TIME_CELL, RunSection
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.queues import words
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import ABOVE, Chart, make_figure
from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.queueing.preemption.preemption_loops import PreemptionLoop
    from kschedweb.engine.studies.actors.queues.columns import QueueLog
    from kschedweb.engine.studies.play.outcome import RunOutcome

# Jobs in the picture: those that waited longest.
MOST_JOBS = 40


@dataclass(frozen=True)
class WaitRow:
    """The jobs of a queue and priority."""

    queue: str
    priority: int
    jobs: int
    # Seconds until they had quota; None if none had.
    median: float | None
    p99: float | None
    waiting: int
    unplaced: int
    evictions: int

    @property
    def subject(self) -> str:
        return self.queue


@dataclass(frozen=True)
class JobRow:
    """A job, and what came of it. Times are seconds in the simulation."""

    job: str
    queue: str
    priority: int
    pods: int
    queued: float
    quota: float | None
    wait: float | None
    placed: float | None
    ended: float | None
    evictions: int
    # Why it lost its quota last.
    reason: str
    flavors: str

    @property
    def subject(self) -> str:
        return self.job


@dataclass(frozen=True)
class QuotaRow:
    """A quota over a run. Amounts are means over time, in milli-CPU or whole units."""

    queue: str
    cohort: str
    flavor: str
    resource: str
    nominal: int | None
    used: float
    borrowed: float
    lent: float
    most_used: int

    @property
    def subject(self) -> str:
        return self.queue

    def write(self, amount: float | None) -> str:
        """Return an amount for people."""
        if amount is None:
            return gettext("unlimited")
        divisor, unit = {"cpu": (1000.0, ""), "memory": (float(1 << 30), " GiB")}.get(self.resource, (1.0, ""))
        return f"{amount / divisor:,.1f}{unit}"


def _log_of(outcome: RunOutcome) -> QueueLog:
    log = figures.find_log(outcome)
    assert log is not None, "sections are shown of runs that have what they tell of"
    return log


def list_wait_rows(outcome: RunOutcome) -> list[WaitRow]:
    """Return the jobs by queue and priority."""
    rows = []
    for (queue, priority), courses in figures.waits_by_queue(figures.list_courses(_log_of(outcome))).items():
        waits = figures.list_waits(courses)
        rows.append(
            WaitRow(
                queue,
                priority,
                len(courses),
                overtime.compute_quantile(waits, 0.5),
                overtime.compute_quantile(waits, 0.99),
                sum(course.is_waiting for course in courses),
                sum(course.is_unplaced for course in courses),
                sum(course.evictions for course in courses),
            )
        )
    return rows


def list_quota_rows(outcome: RunOutcome) -> list[QuotaRow]:
    """Return each quota with its use."""
    shares = figures.list_shares(_log_of(outcome), outcome.end)
    return [QuotaRow(**asdict(share)) for share in shares]


class JobList(LazyRows[JobRow]):
    """The jobs of a run, in the order of arrival."""

    def __init__(self, outcome: RunOutcome) -> None:
        log = figures.find_log(outcome)
        self.rows = [] if log is None else figures.list_courses(log)

    def row(self, course: figures.JobCourse) -> JobRow:
        times = (course.first_quota, course.wait, course.running, course.ended)
        quota, wait, placed, ended = (None if time is None else round(time, 6) for time in times)
        return JobRow(
            course.name,
            course.queue,
            course.priority,
            course.pods,
            round(course.queued, 6),
            quota,
            wait,
            placed,
            ended,
            course.evictions,
            course.reason,
            course.flavors,
        )


def queues_json(outcome: RunOutcome) -> Json:
    """Return the waits, the quotas and the evictions by reason as plain data; empty without queues."""
    log = figures.find_log(outcome)
    if log is None:
        return {"waits": [], "quotas": [], "evictions": {}, "loops": []}
    return {
        "waits": [asdict(row) for row in list_wait_rows(outcome)],
        "quotas": [asdict(row) for row in list_quota_rows(outcome)],
        "evictions": dict(figures.count_evictions(log)),
        "loops": [_describe_loop(loop) for loop in figures.list_loops(log)],
    }


def _describe_loop(loop: PreemptionLoop) -> Json:
    return {
        "sentence": words.describe_loop(loop),
        "count": loop.count,
        "first_seconds": round(loop.first, 6),
        "last_seconds": round(loop.last, 6),
        "evictions": [asdict(edge) for edge in loop.edges],
    }


def jobs_chart(outcome: RunOutcome) -> Chart | None:
    """Draw when jobs waited and when they had quota, of those that waited longest, in the order of arrival."""
    courses = figures.list_courses(_log_of(outcome))
    if not courses:
        return None
    chosen = sorted(courses, key=lambda course: -_waited(course, outcome.end))[:MOST_JOBS]
    drawn = sorted(chosen, key=lambda course: (course.queued, course.name))
    scale = TimeScale.for_end(outcome.end)
    waits, quotas = [], []
    for course in drawn:
        ended = outcome.end if course.ended is None else course.ended
        begin = course.queued
        for start, end in [*course.spells, (ended, ended)]:
            waits.append((course, begin, start))
            begin = ended if end is None else end
            if start < begin:
                quotas.append((course, start, begin))
    labels = [course.name for course in drawn]
    data = [
        _draw_bars(gettext("in queue"), [bar for bar in waits if bar[1] < bar[2]], scale, 1),
        _draw_bars(gettext("has quota"), quotas, scale, 0),
    ]
    layout = go.Layout(
        height=110 + 18 * len(labels),
        barmode="overlay",
        legend={**ABOVE, "traceorder": "normal"},
        hovermode="closest",
        xaxis={**scale.axis_layout(), "range": [0, outcome.end / scale.seconds or 1]},
        yaxis={"autorange": "reversed", "automargin": True, "type": "category", "categoryarray": labels},
        margin={"t": 40, "b": 50},
        meta={"scale": scale.seconds},
    )
    rows: list[list[object]] = [
        [
            course.name,
            course.queue,
            format_duration(course.queued),
            "–" if course.wait is None else format_duration(course.wait),
            course.evictions,
        ]
        for course in drawn
    ]
    head = [gettext("Job"), gettext("Queue"), gettext("Arrives"), gettext("Waits for quota"), gettext("Evictions")]
    return Chart(make_figure(data, layout), _describe_chart(len(drawn), len(courses)), head, rows)


def _waited(course: figures.JobCourse, end: float) -> float:
    """Return the seconds in which a job had no quota."""
    end_time = end if course.ended is None else course.ended
    return end_time - course.queued - sum((end_time if stop is None else stop) - start for start, stop in course.spells)


def _draw_bars(
    label: str, bars: Sequence[tuple[figures.JobCourse, float, float]], scale: TimeScale, side: int
) -> go.Bar:
    return go.Bar(
        orientation="h",
        name=label,
        meta={"side": side},
        y=[course.name for course, _, _ in bars],
        base=[round(begin / scale.seconds, 4) for _, begin, _ in bars],
        x=[round((end - begin) / scale.seconds, 4) for _, begin, end in bars],
        text=[format_duration(end - begin) for _, begin, end in bars],
        textposition="none",
        hovertemplate="%{y}: %{text}",
    )


def _describe_chart(drawn: int, total: int) -> str:
    if drawn < total:
        counts = {"shown": f"{drawn:,}", "total": f"{total:,}"}
        return (
            gettext("When jobs waited and when they had quota: the %(shown)s of %(total)s that waited longest.")
            % counts
        )
    return gettext("When jobs waited and when they had quota.")


def describe_queues(outcome: RunOutcome) -> list[str]:
    """Return what became of the jobs, and why they lost their quota."""
    log = _log_of(outcome)
    courses = figures.list_courses(log)
    admitted = sum(course.first_quota is not None for course in courses)
    sentences = [
        ngettext("%(admitted)s of %(jobs)s job had quota.", "%(admitted)s of %(jobs)s jobs had quota.", len(courses))
        % {"admitted": f"{admitted:,}", "jobs": f"{len(courses):,}"}
    ]
    if evictions := figures.count_evictions(log):
        reasons = [f"{reason} {number:,}" for reason, number in sorted(evictions.items())]
        sentences.append(gettext("Evictions by reason: %(reasons)s.") % {"reasons": gettext(", ").join(reasons)})
    sentences += [words.describe_loop(loop) for loop in figures.list_loops(log)[: words.MOST_LOOPS]]
    if unplaced := [course.name for course in courses if course.is_unplaced]:
        names = gettext(", ").join(unplaced[:5]) + (" …" if len(unplaced) > 5 else "")
        sentences.append(
            gettext("Quota only counts sums: %(jobs)s have quota, and not all of their pods have a node.")
            % {"jobs": names}
        )
    return sentences


def _write_wait(name: str) -> Callable[[WaitRow], str]:
    def write(row: WaitRow) -> str:
        seconds: float | None = getattr(row, name)
        return "–" if seconds is None else format_duration(seconds)

    return write


WAITS = RowTable(
    "queue-waits",
    _("Time in queue"),
    (
        Column("queue", _("Queue")),
        Column("priority", _("Priority"), "number"),
        Column("jobs", _("Jobs"), "number"),
        Column("median", _("Waits, median"), "number", cell=_write_wait("median")),
        Column("p99", _("Waits, 99th percentile"), "number", cell=_write_wait("p99")),
        Column("waiting", _("Without quota at the end"), "number"),
        Column("unplaced", _("With quota and without nodes"), "number"),
        Column("evictions", _("Evictions"), "number"),
    ),
    marks={"data-queue": "queue"},
)
JOBS = RowTable(
    "queue-jobs",
    "",
    (
        Column("job"),
        Column("queue"),
        Column("priority"),
        Column("pods"),
        Column("queued", cell=TIME_CELL),
        Column("quota"),
        Column("wait"),
        Column("placed"),
        Column("ended"),
        Column("evictions"),
        Column("reason"),
        Column("flavors"),
    ),
)
QUOTAS = RowTable(
    "quotas",
    _("Quota by queue"),
    (
        Column("queue", _("Queue")),
        Column("cohort", _("Cohort")),
        Column("flavor", _("Flavor")),
        Column("resource", _("Resource")),
        Column("nominal", _("Nominal"), "number", cell=lambda row: row.write(row.nominal)),
        Column("used", _("Used, mean"), "number", cell=lambda row: row.write(row.used)),
        Column("most_used", _("Used, at most"), "number", cell=lambda row: row.write(row.most_used)),
        Column("borrowed", _("Borrowed, mean"), "number", cell=lambda row: row.write(row.borrowed)),
        Column("lent", _("Lent, mean"), "number", cell=lambda row: row.write(row.lent)),
    ),
    marks={"data-quota": "queue"},
)
SECTION = RunSection(
    _("Quota queues"),
    lambda outcome: figures.find_log(outcome) is not None,
    WAITS,
    list_wait_rows,
    describe_queues,
    lambda outcome: gettext("No job had to queue."),
    template="playground/runs/queues.html",
    context=lambda outcome: {"chart": jobs_chart(outcome)},
    files=((JOBS, JobList, _("Jobs as CSV")),),
)
QUOTA_SECTION = RunSection(
    QUOTAS.title,
    lambda outcome: figures.find_log(outcome) is not None,
    QUOTAS,
    list_quota_rows,
    nothing=lambda outcome: gettext("No queue has a quota."),
)
