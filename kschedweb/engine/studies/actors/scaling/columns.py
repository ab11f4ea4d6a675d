"""Record how workloads were scaled in a run, as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.simulation.scaling.scalers import ScalingObservation
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.engine.studies.actors.recording import ActorRecorder, RecordedRun
from kschedweb.engine.values import dataclass

# Looks that are kept; then every second one of each workload is dropped.
MOST_LOOKS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """Looks at workloads that are scaled, in order. Shape [looks] each; very many are thinned evenly."""

    # Seconds from the beginning.
    time: Floats
    # Index in `RunOutcome.scaled`.
    workload: Codes
    # Number of pods that the autoscaler wants.
    replicas: Codes
    # Number of pods that take load.
    ready: Codes
    # Percent of requests; NaN if it is unknown.
    utilization: NDArray[np.float32]

    def for_workload(self, workload: int) -> Looks:
        """Return the looks at one workload."""
        mine = self.workload == workload
        return Looks(
            self.time[mine], self.workload[mine], self.replicas[mine], self.ready[mine], self.utilization[mine]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Scalings:
    """Changes of the number of pods that autoscalers want, in order. Shape [changes] each."""

    time: Floats
    workload: Codes
    before: Codes
    after: Codes
    # Index in `RunOutcome.reasons`.
    reason: Codes


NO_LOOKS = Looks(*(np.zeros(0, dtype=kind) for kind in ("f8", "i4", "i4", "i4", "f4")))
NO_SCALINGS = Scalings(*(np.zeros(0, dtype=kind) for kind in ("f8", "i4", "i4", "i4", "i4")))


@dataclass(eq=False)
class ScalingRecorder(ActorRecorder):
    """Record looks and changes."""

    reports: ClassVar[tuple[type, ...]] = (ScalingObservation,)
    records: ClassVar[Mapping[str, type]] = {"looks": Looks, "scalings": Scalings}
    setup: ActorSetup | None = None

    _names: dict[str, int] = field(default_factory=dict)
    _reasons: dict[str, int] = field(default_factory=dict)
    # Target at the last look at a workload; NaN for none.
    _targets: list[float] = field(default_factory=list)
    _looks: list[list[tuple[float, int, int, int, float]]] = field(default_factory=list)
    # Looks at each workload, also those that were dropped.
    _look_counts: list[int] = field(default_factory=list)
    # Every so-many-th look is kept.
    _stride: int = 1
    _changes: list[tuple[float, int, int, int, int]] = field(default_factory=list)

    def add_report(self, look: ScalingObservation, now: float, run: RecordedRun) -> None:
        place = self._names.setdefault(look.workload, len(self._names))
        if place == len(self._looks):
            self._looks.append([])
            self._look_counts.append(0)
            self._targets.append(math.nan)
        if look.target is not None:
            self._targets[place] = float(look.target)
        if self._look_counts[place] % self._stride == 0:
            used = math.nan if look.utilization is None else float(look.utilization)
            self._looks[place].append((now, place, look.replicas, look.ready, used))
        self._look_counts[place] += 1
        if sum(map(len, self._looks)) > MOST_LOOKS:
            self._looks = [listed[::2] for listed in self._looks]
            self._stride *= 2
        if look.before != look.replicas:
            reason = self._reasons.setdefault(look.reason, len(self._reasons))
            self._changes.append((now, place, look.before, look.replicas, reason))

    def build_columns(self, run: RecordedRun) -> dict[str, Any]:
        looks = sorted((look for listed in self._looks for look in listed), key=lambda look: look[0])
        return {
            "scaled": list(self._names),
            "targets": np.array(self._targets, dtype=np.float64),
            "reasons": list(self._reasons),
            "looks": Looks(*_split_columns(looks, ("f8", "i4", "i4", "i4", "f4"))),
            "scalings": Scalings(*_split_columns(self._changes, ("f8", "i4", "i4", "i4", "i4"))),
        }


def _split_columns(listed: list[Any], kinds: tuple[str, ...]) -> list[NDArray[Any]]:
    columns = zip(*listed, strict=True) if listed else ((),) * len(kinds)
    return [np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)]


RECORDER = ScalingRecorder
