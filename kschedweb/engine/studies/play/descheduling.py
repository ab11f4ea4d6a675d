"""What the descheduler did in a run, as columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Any

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.observer import DeschedulerRound
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.engine.studies.moves.favouring_scorers import ScorerLog
from kschedweb.engine.values import dataclass

NOWHERE = -1
MOST_ROUNDS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Evictions:
    """What the descheduler evicted, in order. Shape [evictions].

    ``round`` counts its rounds from 1; ``pod`` and ``node`` are positions, ``node`` -1 for a pod that waited. The rest
    are indices in Outcome.movers: the plugin, its profile, and the score plugin that spoke most for the nodes that the
    pod got since it was evicted twice, -1 where nobody asked.
    """

    time: Floats
    round: Codes
    pod: Codes
    node: Codes
    plugin: Codes
    profile: Codes
    scorer: Codes

    def __len__(self) -> int:
        return len(self.time)


NO_EVICTIONS = Evictions(np.zeros(0), *(np.zeros(0, dtype=np.int32) for _ in range(6)))


@dataclass(eq=False)
class DeschedulingRecorder:
    """Records rounds and evictions. ``first`` is a key that a pod and its replacements share.

    ``scorer_log`` is asked about pods that were evicted twice, before they get their next node.
    """

    scorer_log: ScorerLog | None = None
    rounds: list[tuple[float, int, int, str]] = field(default_factory=list)
    _rows: list[tuple[float, int, int, str, str, str, str]] = field(default_factory=list)
    _times: Counter[str] = field(default_factory=Counter)
    _last_plugin: dict[str, str] = field(default_factory=dict)  # the plugin that evicted last
    _sources: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add_round(
        self, cycle: DeschedulerRound, now: float, row: Callable[[Any], int], first: Callable[[Any], str]
    ) -> None:
        """A round; ``row`` and ``first`` are those of a pod's life."""
        if len(self.rounds) < MOST_ROUNDS:
            self.rounds.append((now, len(cycle.evicted), cycle.refused, cycle.note))
        self._sources.clear()
        for eviction in cycle.evicted:
            key, node = first(eviction.life), eviction.life.pod.node_name
            self._rows.append((now, cycle.number, row(eviction.life), key, node, eviction.plugin, eviction.profile))
            self._times[key] += 1
            self._last_plugin[key] = eviction.plugin
            self._sources[eviction.plugin].add(node)

    def on_decided(self, pod: Pod, key: str, node: str) -> None:
        """The pod is about to get ``node``."""
        if self.scorer_log is not None and node and self._times[key] > 1:
            sources: AbstractSet[str] = self._sources.get(self._last_plugin[key], set())
            self.scorer_log.record_scorer(pod, node, sources, key)

    def build_columns(self, nodes: Mapping[str, int]) -> dict[str, Any]:
        """Those of the outcome."""
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
                nodes.get(node, NOWHERE),
                encode_name(plugin),
                encode_name(profile),
                self._scorer_code(key, encode_name),
            )
            for time, number, row, key, node, plugin, profile in self._rows
        ]
        time, *codes = zip(*listed, strict=True) if listed else ((),) * 7
        columns = (np.array(column, dtype=np.int32) for column in codes)
        evictions = Evictions(np.array(time, dtype=np.float64), *columns)
        return {"evictions": evictions, "rounds": list(self.rounds), "movers": list(names)}

    def _scorer_code(self, key: str, code: Callable[[str], int]) -> int:
        return NOWHERE if self.scorer_log is None or self._times[key] < 2 else code(self.scorer_log.scorer_of(key))
