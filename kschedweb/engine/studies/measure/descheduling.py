"""Follow up the descheduler's evictions in a run: where pods went, and which of them were evicted again."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from kschedweb.engine.state.columns import Codes
from kschedweb.engine.studies.moves.repeated_cycles import Fight
from kschedweb.engine.studies.play.outcome import NOWHERE, RunOutcome

# Plugins that evict a pod for its age or state, wherever it runs; no score plugin works against them.
RECURRING = frozenset({"PodLifeTime", "RemoveFailedPods", "RemovePodsHavingTooManyRestarts"})


def count_repeated_evictions(outcome: RunOutcome) -> int:
    """Return the number of evictions of pods that the descheduler had evicted before."""
    return len(outcome.evictions) - len(set(_first_rows(outcome)))


def find_successors(outcome: RunOutcome) -> Codes:
    """Return the row of the pod that replaced each evicted one, -1 for none. Shape [evictions]."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, first in enumerate(outcome.first.tolist()):
        rows[first].append(row)
    following = {before: after for listed in rows.values() for before, after in pairwise(listed)}
    return np.array([following.get(row, NOWHERE) for row in outcome.evictions.pod.tolist()], dtype=np.int32)


def find_fights(outcome: RunOutcome) -> list[Fight]:
    """Return pods that a plugin evicts again and again, and the score plugin that brings them back; most pods first."""
    log, names = outcome.evictions, outcome.eviction_names
    times: dict[int, Counter[str]] = defaultdict(Counter)
    scorers: dict[int, str] = {}
    for first, plugin, scorer in zip(_first_rows(outcome), log.plugin.tolist(), log.scorer.tolist(), strict=True):
        if names[plugin] not in RECURRING:
            times[first][names[plugin]] += 1
            scorers[first] = names[scorer] if scorer >= 0 else ""
    grouped: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for first, counted in times.items():
        (plugin, number), *_ = counted.most_common(1)
        if number > 1:
            grouped[plugin, scorers[first]].append((first, number))
    fights = [
        Fight(
            plugin,
            scorer,
            tuple(outcome.pods[first] for first, _ in pods),
            tuple(sorted({workload_of(outcome, first) for first, _ in pods})),
            max(number for _, number in pods),
        )
        for (plugin, scorer), pods in grouped.items()
    ]
    return sorted(fights, key=lambda fight: (-len(fight.pods), fight.plugin, fight.scorer))


def workload_of(outcome: RunOutcome, row: int) -> str:
    """Return "namespace/Kind/name" of the pod's controller; without one, the pod's own name."""
    place = int(outcome.workload[row])
    return outcome.workloads[place] if place >= 0 else outcome.pods[row]


def _first_rows(outcome: RunOutcome) -> list[int]:
    first_rows: list[int] = outcome.first[outcome.evictions.pod].tolist() if len(outcome.evictions) else []
    return first_rows
