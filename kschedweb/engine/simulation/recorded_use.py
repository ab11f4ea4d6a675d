"""Pods that use what was recorded: each follows one machine's curve, in percent of what it may use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation.scaling.load import Share
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.curves import HOUR, learn_curves
from kschedweb.engine.state.watermarks.table import HOURS, Figures, Watermarks, workload_of
from kschedweb.engine.values import dataclass

# Windows of the means, in seconds.
MEANS = {"5m": 300.0, "10m": 600.0, "15m": 900.0, "1h": 3600.0, "1d": 86400.0}
# The windows that workloads are measured over.
WORKLOAD_WINDOWS = ("15m", "1h", "1d")
# Seconds of the window of the standard deviation, and of those of the highest five-minute means.
DEVIATION, HIGHEST = 900.0, {"1h_max": 3600.0, "1d_max": 86400.0}
MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Follower:
    """The curve that the pods of a workload follow."""

    # Row of the curves.
    row: int
    # Cores that each pod may use.
    cores: float


class IntervalHistory:
    """The values of each column (a node, or a workload) in each interval, and their means over the last intervals.

    A window that reaches back further than the history is as long as the history.
    """

    def __init__(self, columns: int, intervals: int) -> None:
        self.values: Floats = np.zeros((intervals, columns))
        self.count = 0
        # Running sums: the sum of any window is a difference of two rows.
        self._sums: Floats = np.zeros((intervals + 1, columns))

    def append(self, values: NDArray[Any]) -> None:
        self.values[self.count] = values
        self._sums[self.count + 1] = self._sums[self.count] + values
        self.count += 1

    def total(self, width: int) -> Floats:
        """Return the sum over the last ``width`` intervals. Shape [columns]."""
        total: Floats = self._sums[self.count] - self._sums[max(0, self.count - width)]
        return total

    def mean(self, width: int) -> Floats:
        """Return the mean over the last ``width`` intervals, zeros before the first. Shape [columns]."""
        return self.total(width) / max(1, min(width, self.count))

    def last(self, width: int) -> Floats:
        """Return the last ``width`` intervals. Shape [intervals, columns]."""
        return self.values[max(0, self.count - width) : self.count]


class RecordedUse:
    """Measures nodes and workloads whose pods follow ``curves`` (percent of what they may use, [rows, intervals]).

    ``nodes`` are their allocatable cores. ``followers`` says what pods follow, by workload ("namespace/Kind/name", Kind
    Pod for pods without one); other pods use nothing. A node whose pods want more than it has gives each what it
    requested, and divides the rest in proportion to what is still wanted. With ``recorded`` a workload's past is what
    was recorded until now; else it is what its own pods used here. ``memory`` is the share of requested memory that is
    used, with the nodes' allocatable bytes; ``None`` if it is not measured.
    """

    def __init__(
        self,
        nodes: Mapping[str, float],
        curves: Floats,
        interval: float,
        followers: Mapping[str, Follower],
        *,
        recorded: bool = False,
        memory: tuple[float, Floats] | None = None,
    ) -> None:
        self.interval, self.names = interval, list(nodes)
        self.cores: Floats = np.array(list(nodes.values()))
        self.intervals = curves.shape[1]
        # Cores.
        self.used = IntervalHistory(len(nodes), self.intervals)
        # Cores that pods wanted and did not get.
        self.unserved: Floats = np.zeros(self.intervals)
        # Number of pods that got less than they wanted.
        self.short = np.zeros(self.intervals, dtype=np.int64)
        self.running = np.zeros(self.intervals, dtype=np.int64)
        rows = [follower.row for follower in followers.values()]
        # The demand of a pod of each workload, in cores. Shape [workloads, intervals].
        self._wants: Floats = curves[rows] / 100.0 * np.array([[follower.cores] for follower in followers.values()])
        self._recorded, self._memory = recorded, memory
        # Bytes.
        self._memory_use = IntervalHistory(len(nodes), self.intervals)
        self._index = {name: place for place, name in enumerate(nodes)}
        self._pods = _RunningPods()
        self._workloads = _WorkloadHistories(list(followers), self.intervals, interval)
        self._objects = ClusterObjects()
        # By the position of the workload.
        self._shares: dict[int, Share] = {}

    def share(self, workload: str, share: Share, pods: Sequence[Pod], now: float) -> None:
        """Let the pods of the workload share a load from now on: their use so far, or a load of its own."""
        owner = self._workloads.names.get(workload)
        if owner is not None:
            self._shares[owner] = share

    def shared(self, workload: str, now: float) -> float:
        """Return the cores that the pods of a sharing workload would use together."""
        owner = self._workloads.names.get(workload)
        if owner is None:
            return 0.0
        return self._shared_load(owner, min(int(now / self.interval), self.intervals - 1), now)

    def _shared_load(self, owner: int, place: int, now: float) -> float:
        share = self._shares[owner]
        return float(self._wants[owner, place]) * share.pods if share.load is None else share.load.cores_at(now)

    def _compute_demand(self, pods: PodShares, place: int, now: float) -> Floats:
        """Return the demand of each pod while it ran, in cores; pods that share a load each have a part of it."""
        demand: Floats = self._wants[pods.owner, place] * pods.share
        for owner, share in self._shares.items():
            mine = pods.owner == owner
            running_share = float(pods.share[mine].sum())
            if running_share > 0.0:
                per_pod = min(self._shared_load(owner, place, now - self.interval / 2) / running_share, share.max_cores)
                demand[mine] = per_pod * pods.share[mine]
        return demand

    def add_pod(self, pod: Pod, now: float) -> None:
        """Take in that the pod runs on its node."""
        name = workload_of(pod, self._objects) or f"{pod.namespace}/Pod/{pod.name}"
        owner = self._workloads.names.get(name)
        if owner is not None and pod.node_name in self._index:
            requested, memory = pod.requests.get(CPU, 0) / MILLI, float(pod.requests.get(MEMORY, 0))
            self._pods.add_pod(pod.key, self._index[pod.node_name], owner, requested, memory, now)

    def remove_pod(self, pod: Pod, now: float) -> None:
        """Take in that the pod does not run any more."""
        self._pods.end_pod(pod.key, now)

    def measured(self, now: float) -> Watermarks:
        """Return what was measured by now.

        It is called at 0 and then every interval; the result is constant once the curves have ended.
        """
        place = round(now / self.interval) - 1
        if 0 <= place < self.intervals:
            self._measure_interval(place, now)
        updated = np.full(len(self.names), now)
        workloads = self._workloads
        return Watermarks(
            self.names, updated, self._node_figures(), workloads.figures(), "recording", curves=workloads.curves
        )

    def _measure_interval(self, place: int, now: float) -> None:
        pods = self._pods.shares_between(now - self.interval, now)
        demand = self._compute_demand(pods, place, now)
        received = divide_capacity(demand, np.minimum(demand, pods.requested * pods.share), pods.node, self.cores)
        nodes, owners = len(self.cores), len(self._wants)
        self.used.append(np.bincount(pods.node, weights=received, minlength=nodes))
        self._memory_use.append(np.bincount(pods.node, weights=pods.memory * pods.share, minlength=nodes))
        self.unserved[place] = float((demand - received).sum())
        # Less than this is an error of rounding.
        self.short[place] = int((demand - received > 1e-9).sum())
        self.running[place] = int((pods.share > 0.0).sum())
        if self._recorded:
            self._workloads.used.append(self._wants[:, place])
            self._workloads.ran.append(np.ones(owners))
        else:
            self._workloads.used.append(np.bincount(pods.owner, weights=received, minlength=owners))
            self._workloads.ran.append(np.bincount(pods.owner, weights=pods.share, minlength=owners))
        self._workloads.learn_curves(now)
        self._pods.forget_ended()

    def _node_figures(self) -> dict[tuple[str, str], Floats]:
        figures = {(CPU, key): column for key, column in self._resource_figures(self.used, self.cores).items()}
        if self._memory is not None:
            share, allocatable = self._memory
            memory_figures = self._resource_figures(self._memory_use, allocatable)
            figures |= {(MEMORY, key): share * column for key, column in memory_figures.items()}
        return figures

    def _resource_figures(self, history: IntervalHistory, allocatable: Floats) -> dict[str, Floats]:
        """Return every figure of one resource, in percent of allocatable."""
        percent = 100.0 / allocatable
        figures = {key: history.mean(self._window_width(seconds)) * percent for key, seconds in MEANS.items()}
        if not history.count:
            return figures | {key: np.zeros(len(allocatable)) for key in ("15m_std", *HIGHEST)}
        figures["15m_std"] = history.last(self._window_width(DEVIATION)).std(axis=0) * percent
        mean_width = max(1, self._window_width(MEANS["5m"]))
        for key, seconds in HIGHEST.items():
            # The first of the five-minute means in the window reaches back to before it.
            recent = history.last(self._window_width(seconds) + mean_width - 1)
            sums = np.cumsum(np.vstack([np.zeros((1, len(allocatable))), recent]), axis=0)
            width = min(mean_width, len(recent))
            figures[key] = ((sums[width:] - sums[:-width]) / width).max(axis=0) * percent
        return figures

    def _window_width(self, seconds: float) -> int:
        return max(1, round(seconds / self.interval))

    def compute_levels(self, window: str = "1h") -> Floats:
        """Return the watermark of every node after each interval, in percent. Shape [intervals so far, nodes]."""
        width, count = self._window_width(MEANS[window]), self.used.count
        sums = np.vstack([np.zeros((1, len(self.cores))), np.cumsum(self.used.values[:count], axis=0)])
        begin = np.maximum(0, np.arange(1, count + 1) - width)
        lengths = (np.arange(1, count + 1) - begin)[:, None]
        levels: Floats = (sums[1:] - sums[begin]) / lengths * (100.0 / self.cores)
        return levels


@dataclass(frozen=True, slots=True)
class PodShares:
    """The pods that ran during an interval, as columns."""

    node: NDArray[np.intp]
    # Position of the workload.
    owner: NDArray[np.intp]
    # Cores.
    requested: Floats
    # Bytes.
    memory: Floats
    # The part of the interval in which each ran, 0 to 1.
    share: Floats


class _RunningPods:
    """The pods that run, as columns that grow: an interval is measured without a loop over pods."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._free: list[int] = []
        # Positions of node and owner. Shape [2, places].
        self._positions = np.zeros((2, 0), dtype=np.intp)
        # Requested cores, bytes of memory, and when the pod came and left; -inf for a free place. Shape [4, places].
        self._amounts: Floats = np.zeros((4, 0))
        # Columns of pods that left in the current interval, which still count for it.
        self._ended: list[int] = []

    def add_pod(self, key: str, node: int, owner: int, requested: float, memory: float, now: float) -> None:
        if not self._free:
            size = self._positions.shape[1]
            self._free = list(range(size, 2 * size + 64))[::-1]
            self._positions = np.hstack([self._positions, np.zeros((2, size + 64), dtype=np.intp)])
            self._amounts = np.hstack([self._amounts, np.full((4, size + 64), -math.inf)])
        place = self._places[key] = self._free.pop()
        self._positions[:, place] = node, owner
        self._amounts[:, place] = requested, memory, now, math.inf

    def end_pod(self, key: str, now: float) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            self._amounts[3, place] = now
            self._ended.append(place)

    def shares_between(self, begin: float, end: float) -> PodShares:
        rows = np.flatnonzero(self._amounts[3] >= begin)
        node, owner = self._positions[:, rows]
        requested, memory, arrived, departed = self._amounts[:, rows]
        share = np.maximum(np.minimum(departed, end) - np.maximum(arrived, begin), 0.0) / (end - begin)
        return PodShares(node, owner, requested, memory, share)

    def forget_ended(self) -> None:
        self._amounts[3, self._ended] = -math.inf
        self._free += self._ended
        self._ended = []


class _WorkloadHistories:
    """The use of a pod of each workload, in cores, over windows."""

    def __init__(self, names: Sequence[str], intervals: int, interval: float) -> None:
        self.names = {name: place for place, name in enumerate(names)}
        self.interval = interval
        self.used = IntervalHistory(len(names), intervals)
        # Number of pods, on average.
        self.ran = IntervalHistory(len(names), intervals)
        self.curves: Mapping[str, Floats] = {}
        # Ends of the whole hours so far.
        self._ends: list[float] = []
        # Cores per pod in each of those hours.
        self._hourly: list[Floats] = []

    def learn_curves(self, now: float) -> None:
        """Learn the daily curves anew when a whole hour ends ``now``."""
        if now % HOUR:
            return
        width = max(1, round(HOUR / self.interval))
        used, running = self.used.total(width), self.ran.total(width)
        self._ends.append(now)
        self._hourly.append(np.divide(used, running, out=np.full_like(used, math.nan), where=running > 0.0))
        learnt = learn_curves(self._ends, np.array(self._hourly))
        missing = np.isnan(learnt).sum(axis=0).tolist()
        self.curves = {name: learnt[:, place] for name, place in self.names.items() if missing[place] < HOURS}

    def figures(self) -> Mapping[str, Figures]:
        widths = {window: max(1, round(MEANS[window] / self.interval)) for window in WORKLOAD_WINDOWS}
        return _WorkloadFigures(self.names, {key: (self.used.total(w), self.ran.total(w)) for key, w in widths.items()})


class _WorkloadFigures(Mapping[str, Figures]):
    """The figures of each workload that ran, made when they are read: few of many are."""

    def __init__(self, names: Mapping[str, int], totals: Mapping[str, tuple[Floats, Floats]]) -> None:
        self._names, self._totals = names, totals

    def __getitem__(self, name: str) -> Figures:
        place = self._names[name]
        figures = {
            key: float(used[place] / running[place])
            for key, (used, running) in self._totals.items()
            if running[place] > 0.0
        }
        return {CPU: figures}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def divide_capacity(demand: Floats, guaranteed: Floats, node: NDArray[np.intp], cores: Floats) -> Floats:
    """Return what each pod gets of its node: ``guaranteed``, and a part of the rest by its further demand."""
    extra = demand - guaranteed
    extra_demand = np.bincount(node, weights=extra, minlength=len(cores))
    remaining = np.maximum(cores - np.bincount(node, weights=guaranteed, minlength=len(cores)), 0.0)
    part = np.minimum(1.0, np.divide(remaining, extra_demand, out=np.ones_like(remaining), where=extra_demand > 0.0))
    received: Floats = guaranteed + extra * part[node]
    return received
