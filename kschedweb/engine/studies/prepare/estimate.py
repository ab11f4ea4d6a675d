"""Estimates the use of nodes if pods run elsewhere, from the measurements where they ran."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation.scaling.load import Share
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.columns import Floats, Ints
from kschedweb.engine.state.watermarks.table import Watermarks, workload_of
from kschedweb.engine.studies.prepare.history import Played
from kschedweb.engine.values import dataclass

FIRST, OFTEN, SELDOM = 300.0, 1.0, 60.0  # seconds: length of frequent measuring, its interval, the interval afterwards
RESOURCES = (CPU, MEMORY)
FINE = {CPU: 1_000_000.0, MEMORY: 1.0}  # micro-cores in a core, bytes in a byte; integer sums are exact
PER_UNIT = {CPU: 1000, MEMORY: 1}  # micro-cores in a milli-core
KEYS = ("1h", "15m", "1d")  # keys of workloads to try if a figure's own is not known
SHORTEST = ("5m", "10m", "15m", "1h", "1d")  # windows of figures, that which says most of now first
STILL = ("_std", "system")  # figures that are not levels do not change
MOST_KEPT = 4  # times whose amounts are cached

Figure = tuple[str, str]  # resource, key
Places = NDArray[np.intp]


class Who(NamedTuple):
    """A pod: its ``row`` among the base's pods (-1: new), its workload, and its requests, f8[figures]."""

    row: int
    owner: int
    asked: Floats
    workload: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """The amounts used at one time, in whole micro-cores or bytes. ``known`` has the figures of all nodes.

    ``own`` is the use of nodes outside pods, i8[figures, nodes]; ``pods`` the use of the base's pods, i8[pods,
    figures]. Other pods use as much as a pod of their workload, ``told`` f8[workloads + 1, figures]; it is NaN if
    unknown, and in the last row, which is for pods without a workload. Then they use ``ratio``, f8[figures], times
    their requests.
    """

    known: Watermarks
    own: Ints
    pods: Ints
    told: Floats
    ratio: Floats

    def of(self, row: Places, owner: Places, asked: Floats) -> Ints:
        """The use of pods, on whatever node they run. Shape [pods, figures]."""
        told = self.told[owner]
        found: Ints = np.where(np.isnan(told), asked * self.ratio, told).round().astype(np.int64)
        based = row >= 0
        found[based] = self.pods[row[based]]
        return found


class Estimate:
    """Estimates from the figures of the ``base``, whose nodes had ``before``, the use of nodes with ``after``.

    A pod uses as much as a pod of its workload. Pods without figures share the rest of their node's use in proportion
    to their requests, and at most these; what remains is the node's own use. If the known use of a node's pods exceeds
    the node's, it is scaled down. New nodes have no use of their own. This is repeated for each of the times in
    ``played``.
    """

    def __init__(
        self,
        played: Played,
        base: Iterable[Pod],
        before: Mapping[str, Mapping[str, int]],
        after: Mapping[str, Mapping[str, int]],
        objects: ClusterObjects,
    ) -> None:
        self.played, self._objects = played, objects
        found = played.collected
        self._there = len(found.names)
        self.nodes = list(dict.fromkeys([*found.names, *after]))
        self.places = {name: place for place, name in enumerate(self.nodes)}
        levels = [figure for figure in found.nodes if not figure[1].endswith(("_capacity", *STILL))]
        self.figures = [figure for figure in levels if figure[0] in RESOURCES]
        self.of_cpu = np.array([resource == CPU for resource, _ in self.figures], dtype=np.bool_)
        shortest = [self.figures.index((CPU, key)) for key in SHORTEST if (CPU, key) in self.figures]
        self.shortest = next(iter(shortest), None)
        self._resource = np.array([RESOURCES.index(resource) for resource, _ in self.figures], dtype=np.intp)
        self._owners = {name: place for place, name in enumerate(found.owners)}
        has = [[_fine(before.get(name, {}), resource) for name in found.names] for resource in RESOURCES]
        self._has = np.array(has, dtype=np.float64)[self._resource]  # [figures, known nodes]
        allocatable = [[_fine(after.get(n, before.get(n, {})), resource) for n in self.nodes] for resource in RESOURCES]
        self.allocatable: Ints = np.array(allocatable, dtype=np.int64)  # [resources, nodes]
        known = set(found.names)
        pods = [pod for pod in base if pod.node_name in known]
        self._rows: dict[str, int] = {}
        based = [self.who(pod) for pod in pods]
        self._rows = {pod.key: row for row, pod in enumerate(pods)}
        self._on = np.array([self.places[pod.node_name] for pod in pods], dtype=np.intp)
        self._owner = np.array([who.owner for who in based], dtype=np.intp)
        self._asked = np.array([who.asked for who in based]).reshape(len(pods), len(self.figures))
        self._kept: dict[int, Amounts] = {}

    def who(self, pod: Pod) -> Who:
        """What determines a pod's use; a replacement counts as the pod that it replaces."""
        first = pod.key.rpartition("-again")[0] or pod.key
        workload = workload_of(pod, self._objects) or ""
        owner = self._owners.get(workload, len(self._owners))
        asked = np.array([float(pod.requests.get(one, 0) * PER_UNIT[one]) for one in RESOURCES])
        return Who(self._rows.get(pod.key, self._rows.get(first, -1)), owner, asked[self._resource], workload)

    def at(self, place: int) -> Amounts:
        """The amounts at one of the times."""
        if place not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept = {}
            self._kept[place] = self._amounts(place)
        return self._kept[place]

    def _amounts(self, place: int) -> Amounts:
        found = self.played.collected.at(place)
        used = np.array([found.figures[figure] for figure in self.figures]).reshape(self._has.shape)
        unmeasured, total = np.isnan(used), np.nan_to_num(used / 100.0 * self._has)
        told = self._told(place)
        mine = told[self._owner]
        unknown = np.isnan(mine)
        shares = self._shared(total, mine, unmeasured)
        own = np.maximum(total.round().astype(np.int64) - self._by_node(shares).astype(np.int64), 0)
        own = np.hstack([own, np.zeros((len(own), len(self.nodes) - self._there), dtype=np.int64)])
        counts = unknown & ~unmeasured.T[self._on]
        guessed, asked = np.where(counts, shares, 0).sum(axis=0), np.where(counts, self._asked, 0.0).sum(axis=0)
        ratio = np.divide(guessed, asked, out=np.ones(len(self.figures)), where=asked > 0.0)
        return Amounts(self._aged(found), own, shares, told, ratio)

    def _aged(self, found: Watermarks) -> Watermarks:
        """``found`` for all nodes, with times relative to the measurement: figures of a history are always new."""
        updated = found.updated - self.played.now
        if self.played.window:
            silent = np.isnan(list(found.figures.values())).all(axis=0)
            updated = np.where(silent, math.nan, 0.0)
        return replace(found, updated=updated).aligned(self.nodes)

    def _told(self, place: int) -> Floats:
        """The use of one pod of each workload. Shape [workloads + 1, figures]."""
        workloads = self.played.collected.workloads
        told = np.full((len(self._owners) + 1, len(self.figures)), math.nan)
        for column, (resource, key) in zip(told.T, self.figures, strict=True):
            for one in (key, *KEYS):
                if (values := workloads.get((resource, one))) is not None:
                    column[:-1] = np.where(np.isnan(column[:-1]), values[place] * FINE[resource], column[:-1])
        return told

    def _shared(self, total: Floats, told: Floats, unmeasured: NDArray[np.bool_]) -> Ints:
        """Each base pod's share of its node's ``total`` [figures, nodes]; ``told`` is f8[pods, figures]."""
        known = np.nan_to_num(told)
        sums = self._by_node(known)
        less = np.divide(total, sums, out=np.ones_like(total), where=(sums > total) & ~unmeasured)
        left = np.maximum(total - sums, 0.0)
        wanted = np.where(np.isnan(told), self._asked, 0.0)
        wants = self._by_node(wanted)
        part = np.divide(left, wants, out=np.ones_like(left), where=(wants > left) & ~unmeasured)
        shares: Ints = np.floor(known * less.T[self._on] + wanted * part.T[self._on]).astype(np.int64)
        return shares

    def _by_node(self, values: Floats | Ints) -> Floats:
        """``values`` [pods, figures] summed by known node. Shape [figures, nodes]."""
        return _summed(values, self._on, self._has.shape)


class EstimatedUse:
    """Sums the use of running pods by node.

    A change shows at once in all figures, also in means over hours. Use is measured each second for five minutes, then
    each minute.
    """

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate
        self._now = 0.0
        self._amounts = estimate.at(estimate.played.place(0.0))
        self._used = self._amounts.own.copy()
        self._running: dict[str, tuple[int, Who]] = {}
        self._new = np.arange(len(estimate.nodes)) >= len(estimate.played.collected.names)
        self._shares: dict[str, tuple[Share, list[Who]]] = {}

    def share(self, workload: str, share: Share, pods: Sequence[Pod], now: float) -> None:
        """From now on the pods of the workload share the CPU that ``pods`` would use, or a load of its own."""
        self._shares[workload] = share, [self._estimate.who(pod) for pod in pods]
        self._sum()

    def shared(self, workload: str, now: float) -> float:
        """The cores that the pods of a workload that shares would use together."""
        self._turn(now)
        row = self._estimate.shortest
        return float(self._together(workload, now)[row]) / FINE[CPU] if row is not None else 0.0

    def _together(self, workload: str, now: float) -> Floats:
        """What the pods of the workload use together by figure, in micro-cores."""
        share, whos = self._shares[workload]
        if share.load is not None:
            return np.full(len(self._estimate.figures), share.load.at(now) * FINE[CPU])
        together: Floats = (
            self._of(whos).sum(axis=0).astype(np.float64) if whos else np.zeros(len(self._estimate.figures))
        )
        return together

    def _divided(self, now: float) -> Ints:
        """What the nodes use by the pods that share. Shape [figures, nodes]."""
        used = np.zeros_like(self._used)
        on: dict[str, list[int]] = {}
        for place, who in self._running.values():
            if who.workload in self._shares:
                on.setdefault(who.workload, []).append(place)
        for workload, places in on.items():
            most = self._shares[workload][0].most * FINE[CPU]
            each = np.minimum(self._together(workload, now) / len(places), most)
            counts = np.bincount(places, minlength=used.shape[1])
            used += (np.where(self._estimate.of_cpu, each, 0.0)[:, None] * counts).round().astype(np.int64)
        return used

    def copy(self) -> EstimatedUse:
        """An independent copy."""
        other = copy.copy(self)
        other._used, other._running, other._shares = self._used.copy(), dict(self._running), dict(self._shares)
        return other

    @property
    def interval(self) -> float:
        """Seconds until the next measurement."""
        return OFTEN if self._now < FIRST else SELDOM

    def came(self, pod: Pod, now: float) -> None:
        place = self._estimate.places.get(pod.node_name)
        if place is not None:
            self._running[pod.key] = place, self._estimate.who(pod)
            self._add(*self._running[pod.key], 1)

    def left(self, pod: Pod, now: float) -> None:
        if pod.key in self._running:
            self._add(*self._running.pop(pod.key), -1)

    def measured(self, now: float) -> Watermarks:
        self._now = now
        self._turn(now)
        known, estimate, new = self._amounts.known, self._estimate, self._new
        used = self._used + self._divided(now) if self._shares else self._used
        # Figures in percent of capacity are computed from these.
        figures = {figure: column for figure, column in known.figures.items() if not figure[1].endswith("_capacity")}
        for row, figure in enumerate(estimate.figures):
            has = estimate.allocatable[RESOURCES.index(figure[0])]
            percent = np.divide(100.0 * used[row], has, out=np.zeros(len(has)), where=has > 0)
            figures[figure] = np.where(np.isnan(known.figures[figure]) & ~new, math.nan, percent)
        return replace(known, updated=np.where(new, now, known.updated + now), figures=figures)

    def _turn(self, now: float) -> None:
        """Switch to the amounts at ``now``."""
        amounts = self._estimate.at(self._estimate.played.place(now))
        if amounts is self._amounts:
            return
        self._amounts = amounts
        self._sum()

    def _sum(self) -> None:
        """Sum by node what its own use and that of the pods on it is."""
        self._used = self._amounts.own.copy()
        if self._running:
            places, whos = zip(*self._running.values(), strict=True)
            by_node = _summed(self._alone(whos), np.array(places, dtype=np.intp), self._used.shape)
            self._used += by_node.astype(np.int64)

    def _add(self, place: int, who: Who, sign: int) -> None:
        self._used[:, place] += sign * self._alone([who])[0]

    def _alone(self, whos: Sequence[Who]) -> Ints:
        """What pods use that is not shared. Shape [pods, figures]."""
        found = self._of(whos)
        if self._shares:
            shares = np.array([who.workload in self._shares for who in whos])
            found[np.ix_(shares, self._estimate.of_cpu)] = 0
        return found

    def _of(self, whos: Iterable[Who]) -> Ints:
        rows, owners, asked, _ = zip(*whos, strict=True)
        return self._amounts.of(np.array(rows, dtype=np.intp), np.array(owners, dtype=np.intp), np.array(asked))


def _summed(values: Floats | Ints, on: Places, shape: tuple[int, ...]) -> Floats:
    """``values`` [pods, figures] summed by node. Shape [figures, nodes]."""
    summed = [np.bincount(on, weights=column, minlength=shape[1]) for column in values.T]
    return np.array(summed, dtype=np.float64).reshape(shape)


def _fine(amounts: Mapping[str, int], resource: str) -> int:
    return amounts.get(resource, 0) * PER_UNIT[resource]
