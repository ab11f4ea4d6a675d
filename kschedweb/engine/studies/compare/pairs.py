"""Pair the pods of two runs, so that both runs count the same pods."""

from __future__ import annotations

from collections import defaultdict

from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.successors import handled_by_scheduler, latest_rows
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class PodPair:
    """A pod, or a chain of replacements, in both runs."""

    # "namespace/name" of the first pod of the chain.
    pod: str
    # Rows of the last pod of the chain in the first and in the second run.
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PodPairs:
    """The pairs in the order of the first run, and the rows of pods that only one run has."""

    listed: list[PodPair]
    only_before: list[int]
    only_after: list[int]


def pair_pods(first: RunOutcome, second: RunOutcome) -> PodPairs:
    """Pair the pods that the scheduler dealt with in at least one run.

    Pods belong together by the name of the first pod of their chain of replacements. A workload that was scaled has
    pods of other names in each run; these belong together in the order of their arrival.
    """
    before, after = latest_rows(first), latest_rows(second)
    listed = [PodPair(pod, row, after[pod]) for pod, row in before.items() if pod in after]
    only_before = {pod: row for pod, row in before.items() if pod not in after}
    only_after = {pod: row for pod, row in after.items() if pod not in before}
    unpaired = _by_workload(second, only_after)
    for workload, pods in _by_workload(first, only_before).items():
        for pod, other in zip(pods, unpaired.get(workload, ()), strict=False):
            listed.append(PodPair(pod, only_before.pop(pod), only_after.pop(other)))
    handled_before, handled_after = handled_by_scheduler(first), handled_by_scheduler(second)
    return PodPairs(
        [pair for pair in listed if handled_before[pair.before] or handled_after[pair.after]],
        [row for row in only_before.values() if handled_before[row]],
        [row for row in only_after.values() if handled_after[row]],
    )


def _by_workload(outcome: RunOutcome, pods: dict[str, int]) -> dict[str, list[str]]:
    pods_by_workload: dict[str, list[str]] = defaultdict(list)
    for pod, row in pods.items():
        if len(outcome.workload) and (code := int(outcome.workload[row])) >= 0:
            pods_by_workload[outcome.workloads[code]].append(pod)
    return pods_by_workload
