"""Record the evictions of the descheduler in a run, as columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.simulation.descheduling import DeschedulerRound
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.engine.studies.actors.recording import ActorRecorder, RecordedRun
from kschedweb.engine.studies.moves.favouring_scorers import ScorerLog
from kschedweb.engine.values import dataclass

# Code for no node, or no score plugin.
NOWHERE = -1
# Rounds that are recorded: two months of the descheduler's default interval of five minutes.
MOST_ROUNDS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Evictions:
    """Evictions by the descheduler, in order. Shape [evictions] each."""

    # Seconds from the beginning.
    time: Floats
    # Number of the round, from 1.
    round: Codes
    # Row of the pod.
    pod: Codes
    # Position of its node; -1 for a pod that waited.
    node: Codes
    # Index in `RunOutcome.eviction_names` of the plugin that evicted it.
    plugin: Codes
    # Index in `RunOutcome.eviction_names` of that plugin's profile.
    profile: Codes
    # Index in `RunOutcome.eviction_names` of the score plugin that favoured the nodes that the pod got after its second
    # eviction. The code is -1 if the pod was evicted once, or if scores were not logged.
    scorer: Codes

    def __len__(self) -> int:
        return len(self.time)


NO_EVICTIONS = Evictions(np.zeros(0), *(np.zeros(0, dtype=np.int32) for _ in range(6)))


@dataclass(eq=False)
class DeschedulingRecorder(ActorRecorder):
    """Record rounds and evictions. A pod and its replacements share a key, which names the first of them."""

    reports: ClassVar[tuple[type, ...]] = (DeschedulerRound,)
    records: ClassVar[Mapping[str, type]] = {"evictions": Evictions}
    setup: ActorSetup | None = None
    # Tells which score plugin decides for pods that were evicted twice, before they get their next node.
    scorer_log: ScorerLog | None = None
    # Time, number of evictions, number of refused ones, and what plugins reported.
    rounds: list[tuple[float, int, int, str]] = field(default_factory=list)
    # Time, round, row, key, node, plugin and profile of each eviction.
    _rows: list[tuple[float, int, int, str, str, str, str]] = field(default_factory=list)
    # Evictions by key.
    _times: Counter[str] = field(default_factory=Counter)
    # The plugin that evicted a pod last, by key.
    _last_plugin: dict[str, str] = field(default_factory=dict)
    # The nodes from which a plugin evicted in the current round.
    _sources: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def begin(self, scheduler: Scheduler) -> None:
        if self.setup is not None:
            self.scorer_log = ScorerLog(scheduler)

    def add_report(self, cycle: DeschedulerRound, now: float, run: RecordedRun) -> None:
        if len(self.rounds) < MOST_ROUNDS:
            self.rounds.append((now, len(cycle.evicted), cycle.refused, cycle.note))
        self._sources.clear()
        for eviction in cycle.evicted:
            key, node = run.key_of(eviction.life), eviction.life.pod.node_name
            self._rows.append(
                (now, cycle.number, run.row_of(eviction.life), key, node, eviction.plugin, eviction.profile)
            )
            self._times[key] += 1
            self._last_plugin[key] = eviction.plugin
            self._sources[eviction.plugin].add(node)

    def on_decided(self, pod: Pod, key: str, node: str) -> None:
        """Log which score plugin decides, before the pod gets ``node``."""
        if self.scorer_log is not None and self.rounds and node and self._times[key] > 1:
            sources: AbstractSet[str] = self._sources.get(self._last_plugin[key], set())
            self.scorer_log.record_scorer(pod, node, sources, key)

    def build_columns(self, run: RecordedRun) -> dict[str, Any]:
        """Return the columns; none without rounds."""
        if not self.rounds:
            return {}
        names: dict[str, int] = {}

        def encode_name(name: str) -> int:
            return names.setdefault(name, len(names))

        listed = [
            (
                time,
                number,
                row,
                run.nodes.get(node, NOWHERE),
                encode_name(plugin),
                encode_name(profile),
                self._scorer_code(key, encode_name),
            )
            for time, number, row, key, node, plugin, profile in self._rows
        ]
        time, *codes = zip(*listed, strict=True) if listed else ((),) * 7
        columns = (np.array(column, dtype=np.int32) for column in codes)
        evictions = Evictions(np.array(time, dtype=np.float64), *columns)
        return {"evictions": evictions, "rounds": list(self.rounds), "eviction_names": list(names)}

    def _scorer_code(self, key: str, code: Callable[[str], int]) -> int:
        return NOWHERE if self.scorer_log is None or self._times[key] < 2 else code(self.scorer_log.scorer_of(key))


RECORDER = DeschedulingRecorder
