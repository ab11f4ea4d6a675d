"""The pods of two runs that are held against each other, so that as many are counted in one as in the other."""

from __future__ import annotations

from collections import defaultdict

from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.successors import latest_rows, scheduled_for
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class PodPair:
    """One place for a pod in both runs: ``pod`` is who had it first, the rows are those of who had it last."""

    pod: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PodPairs:
    """The pairs in the order of the first run, and the rows of pods that only one run has."""

    listed: list[PodPair]
    only_before: list[int]
    only_after: list[int]


def pair_pods(first: RunOutcome, second: RunOutcome) -> PodPairs:
    """The pairs of pods for which a node was looked for in at least one run.

    Pods belong together by the name of the first one in their place. Where a workload has pods of other names in each
    run, since something scaled it, they belong together in the order of their arrival.
    """
    before, after = latest_rows(first), latest_rows(second)
    listed = [PodPair(pod, row, after[pod]) for pod, row in before.items() if pod in after]
    only_before = {pod: row for pod, row in before.items() if pod not in after}
    only_after = {pod: row for pod, row in after.items() if pod not in before}
    free = _by_workload(second, only_after)
    for workload, pods in _by_workload(first, only_before).items():
        for pod, other in zip(pods, free.get(workload, ()), strict=False):
            listed.append(PodPair(pod, only_before.pop(pod), only_after.pop(other)))
    counts, counts_too = scheduled_for(first), scheduled_for(second)
    return PodPairs(
        [pair for pair in listed if counts[pair.before] or counts_too[pair.after]],
        [row for row in only_before.values() if counts[row]],
        [row for row in only_after.values() if counts_too[row]],
    )


def _by_workload(outcome: RunOutcome, pods: dict[str, int]) -> dict[str, list[str]]:
    pods_by_workload: dict[str, list[str]] = defaultdict(list)
    for pod, row in pods.items():
        if len(outcome.workload) and (code := int(outcome.workload[row])) >= 0:
            pods_by_workload[outcome.workloads[code]].append(pod)
    return pods_by_workload
