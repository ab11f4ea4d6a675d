"""Record jobs in quota queues and the use of quota in a run, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.simulation.quota_queues.reports import JobReport, JobStep, QuotaLine, QuotaReport
from kschedweb.engine.state.columns import Codes, Floats, Ints
from kschedweb.engine.studies.actors.recording import ActorRecorder, RecordedRun
from kschedweb.engine.values import dataclass

# Name of the record in `RunOutcome.further`.
RECORD = "quota_queues"


@dataclass(frozen=True, slots=True, eq=False)
class QueueLog:
    """Jobs in quota queues and the use of quota. Times are in seconds from the beginning."""

    # Workloads ("namespace/name"), ClusterQueues, cohorts, flavors, resources, and reasons, once each.
    jobs: list[str]
    queues: list[str]
    cohorts: list[str]
    flavors: list[str]
    resources: list[str]
    texts: list[str]
    # Of each job: index of its ClusterQueue, -1 for none; its priority; how many pods it has.
    job_queue: Codes
    job_priority: Codes
    job_pods: Codes
    # Steps in order: when, of which job, a `JobStep`, for how many pods, and index of its text, -1 for none.
    time: Floats
    job: Codes
    step: NDArray[np.uint8]
    pods: Codes
    text: Codes
    # Lines of quota: indices of queue, cohort (-1 for none), flavor and resource; amounts in milli-CPU and units.
    line_queue: Codes
    line_cohort: Codes
    line_flavor: Codes
    line_resource: Codes
    nominal: Ints
    lendable: Ints
    # Changes of what is used of a line, in order.
    used_time: Floats
    used_line: Codes
    used: Ints
    # Of each step: the job for which one is evicted, -1 for none; empty in runs that did not record it.
    preemptor: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))


@dataclass(eq=False)
class QueueRecorder(ActorRecorder):
    """Record steps of jobs and the use of quota."""

    reports: ClassVar[tuple[type, ...]] = (JobReport, QuotaReport)
    records: ClassVar[Mapping[str, type]] = {RECORD: QueueLog}
    setup: ActorSetup | None = None

    _names: dict[str, dict[str, int]] = field(default_factory=dict)
    # Of each job: queue, priority and pods.
    _jobs: list[tuple[int, int, int]] = field(default_factory=list)
    # Index of the latest job of a name.
    _latest: dict[str, int] = field(default_factory=dict)
    _job_names: list[str] = field(default_factory=list)
    _steps: list[tuple[float, int, int, int, int, int]] = field(default_factory=list)
    _lines: dict[QuotaLine, int] = field(default_factory=dict)
    _levels: dict[int, int] = field(default_factory=dict)
    _changes: list[tuple[float, int, int]] = field(default_factory=list)

    def add_report(self, report: JobReport | QuotaReport, now: float, run: RecordedRun) -> None:
        if isinstance(report, JobReport):
            self._add_step(report, now)
            return
        for line, used in zip(report.lines, report.used, strict=True):
            place = self._lines.setdefault(line, len(self._lines))
            if self._levels.get(place) != used:
                self._levels[place] = used
                self._changes.append((now, place, used))

    def _add_step(self, report: JobReport, now: float) -> None:
        if report.step is JobStep.QUEUED:
            self._latest[report.job] = len(self._jobs)
            self._job_names.append(report.job)
            self._jobs.append((self._encode("queues", report.queue), report.priority, report.pods))
        job = self._latest[report.job]
        text, preemptor = self._encode("texts", report.text), self._latest.get(report.preemptor, -1)
        self._steps.append((now, job, report.step, report.pods, text, preemptor))

    def _encode(self, kind: str, name: str) -> int:
        names = self._names.setdefault(kind, {})
        return names.setdefault(name, len(names)) if name else -1

    def build_columns(self, run: RecordedRun) -> dict[str, Any]:
        """Return the columns; none without queues."""
        if self.setup is None:
            return {}
        line_queue = [self._encode("queues", line.queue) for line in self._lines]
        line_cohort = [self._encode("cohorts", line.cohort) for line in self._lines]
        line_flavor = [self._encode("flavors", line.key.flavor) for line in self._lines]
        line_resource = [self._encode("resources", line.key.resource) for line in self._lines]
        job_queue, job_priority, job_pods = _split(self._jobs, 3)
        time, job, step, pods, text, preemptor = _split(self._steps, 6)
        used_time, used_line, used = _split(self._changes, 3)
        names = {
            kind: list(self._names.get(kind, ())) for kind in ("queues", "cohorts", "flavors", "resources", "texts")
        }
        log = QueueLog(
            jobs=list(self._job_names),
            **names,
            job_queue=_codes(job_queue),
            job_priority=_codes(job_priority),
            job_pods=_codes(job_pods),
            time=np.array(time, dtype=np.float64),
            job=_codes(job),
            step=np.array(step, dtype=np.uint8),
            pods=_codes(pods),
            text=_codes(text),
            line_queue=_codes(line_queue),
            line_cohort=_codes(line_cohort),
            line_flavor=_codes(line_flavor),
            line_resource=_codes(line_resource),
            nominal=np.array([line.nominal for line in self._lines], dtype=np.int64),
            lendable=np.array([line.lendable for line in self._lines], dtype=np.int64),
            used_time=np.array(used_time, dtype=np.float64),
            used_line=_codes(used_line),
            used=np.array(used, dtype=np.int64),
            preemptor=_codes(preemptor),
        )
        return {RECORD: log}


def _split(rows: list[Any], width: int) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*rows, strict=True)) if rows else ((),) * width


def _codes(values: Iterable[int]) -> Codes:
    return np.array(list(values), dtype=np.int32)


RECORDER = QueueRecorder
