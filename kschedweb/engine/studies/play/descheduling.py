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
from kschedweb.engine.studies.moves.speaking import Spoke
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

    ``spoke`` is asked about pods that were evicted twice, before they get their next node.
    """

    spoke: Spoke | None = None
    rounds: list[tuple[float, int, int, str]] = field(default_factory=list)
    _rows: list[tuple[float, int, int, str, str, str, str]] = field(default_factory=list)
    _times: Counter[str] = field(default_factory=Counter)
    _by: dict[str, str] = field(default_factory=dict)  # the plugin that evicted last
    _sources: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, cycle: DeschedulerRound, now: float, row: Callable[[Any], int], first: Callable[[Any], str]) -> None:
        """A round; ``row`` and ``first`` are those of a pod's life."""
        if len(self.rounds) < MOST_ROUNDS:
            self.rounds.append((now, len(cycle.evicted), cycle.refused, cycle.said))
        self._sources.clear()
        for one in cycle.evicted:
            key, node = first(one.life), one.life.pod.node_name
            self._rows.append((now, cycle.number, row(one.life), key, node, one.plugin, one.profile))
            self._times[key] += 1
            self._by[key] = one.plugin
            self._sources[one.plugin].add(node)

    def decided(self, pod: Pod, key: str, node: str) -> None:
        """The pod is about to get ``node``."""
        if self.spoke is not None and node and self._times[key] > 1:
            sources: AbstractSet[str] = self._sources.get(self._by[key], set())
            self.spoke.hear(pod, node, sources, key)

    def columns(self, nodes: Mapping[str, int]) -> dict[str, Any]:
        """Those of the outcome."""
        if not self.rounds:
            return {}
        names: dict[str, int] = {}

        def code(name: str) -> int:
            return names.setdefault(name, len(names))

        listed = [
            (time, number, row, nodes.get(node, NOWHERE), code(plugin), code(profile), self._scorer(key, code))
            for time, number, row, key, node, plugin, profile in self._rows
        ]
        time, *codes = zip(*listed, strict=True) if listed else ((),) * 7
        columns = (np.array(one, dtype=np.int32) for one in codes)
        found = Evictions(np.array(time, dtype=np.float64), *columns)
        return {"evictions": found, "rounds": list(self.rounds), "movers": list(names)}

    def _scorer(self, key: str, code: Callable[[str], int]) -> int:
        return NOWHERE if self.spoke is None or self._times[key] < 2 else code(self.spoke.of(key))
