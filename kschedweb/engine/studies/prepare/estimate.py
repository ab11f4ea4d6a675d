"""Estimate the use of nodes whose pods run elsewhere than where they were measured."""

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
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats, Ints
from kschedweb.engine.state.watermarks.table import Watermarks, workload_of
from kschedweb.engine.studies.prepare.history import UseReplay
from kschedweb.engine.values import dataclass

# Seconds: how long use is measured often, the interval meanwhile, and the interval afterwards.
FIRST, OFTEN, SELDOM = 300.0, 1.0, 60.0
RESOURCES = (CPU, MEMORY)
# Micro-cores in a core, bytes in a byte. Sums of whole numbers are exact, in any order of pods.
FINE = {CPU: 1_000_000.0, MEMORY: 1.0}
# Micro-cores in a milli-core, in which pods request CPU; memory is in bytes.
PER_UNIT = {CPU: 1000, MEMORY: 1}
# Windows of a workload's figures to try, in this order, if it has none for the window of the node's figure.
KEYS = ("1h", "15m", "1d")
# Windows of figures, the one that is closest to the present first.
SHORTEST = ("5m", "10m", "15m", "1h", "1d")
# Ends of figures that are not levels of use; they stay as they were measured.
STILL = ("_std", "system")
# Times whose amounts are cached: each has columns of all pods.
MOST_KEPT = 4

# Resource and key, such as ("cpu", "15m").
Figure = tuple[str, str]
Places = NDArray[np.intp]


class UsagePod(NamedTuple):
    """The data of a pod from which its use is estimated."""

    # Its row among the base's pods; -1 for a new pod.
    row: int
    # Its workload's row in `Amounts.by_workload`.
    owner: int
    # Requests in micro-cores or bytes, f8[figures].
    requests: Floats
    workload: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """The amounts used at one time, in whole micro-cores or bytes."""

    # The figures of all nodes.
    watermarks: Watermarks
    # Use of nodes outside of pods, i8[figures, nodes].
    outside_pods: Ints
    # Use of the base's pods, i8[pods, figures].
    pods: Ints
    # Use of one pod of each workload, f8[workloads + 1, figures], which new pods use, too. NaN if it is unknown, and in
    # the last row, which is for pods without a workload.
    by_workload: Floats
    # Pods of unknown use take this share of their requests, f8[figures].
    ratio: Floats

    def pod_use(self, row: Places, owner: Places, requests: Floats) -> Ints:
        """Return the use of pods, which is the same on every node. Shape [pods, figures]."""
        workload_use = self.by_workload[owner]
        amounts: Ints = np.where(np.isnan(workload_use), requests * self.ratio, workload_use).round().astype(np.int64)
        based = row >= 0
        amounts[based] = self.pods[row[based]]
        return amounts


class Estimate:
    """Estimate the use of nodes with allocatable ``after`` from figures of the ``base`` with allocatable ``before``.

    A pod uses as much as a pod of its workload. Pods without figures share the rest of their node's use in proportion
    to their requests, and at most these; what remains is the node's own use. If the known use of a node's pods exceeds
    the node's, it is scaled down. New nodes have no use of their own. The estimate is made for each of the times in
    ``played``.
    """

    def __init__(
        self,
        played: UseReplay,
        base: Iterable[Pod],
        before: Mapping[str, Mapping[str, int]],
        after: Mapping[str, Mapping[str, int]],
        objects: ClusterObjects,
    ) -> None:
        self.played, self._objects = played, objects
        collected = played.collected
        self._known_count = len(collected.names)
        self.nodes = list(dict.fromkeys([*collected.names, *after]))
        self.places = {name: place for place, name in enumerate(self.nodes)}
        levels = [figure for figure in collected.nodes if not figure[1].endswith(("_capacity", *STILL))]
        self.figures = [figure for figure in levels if figure[0] in RESOURCES]
        self.of_cpu = np.array([resource == CPU for resource, _ in self.figures], dtype=np.bool_)
        shortest = [self.figures.index((CPU, key)) for key in SHORTEST if (CPU, key) in self.figures]
        self.shortest = next(iter(shortest), None)
        self._resource = np.array([RESOURCES.index(resource) for resource, _ in self.figures], dtype=np.intp)
        self._owners = {name: place for place, name in enumerate(collected.owners)}
        has = [[_fine_amount(before.get(name, {}), resource) for name in collected.names] for resource in RESOURCES]
        self._has = np.array(has, dtype=np.float64)[self._resource]  # [figures, known nodes]
        allocatable = [
            [_fine_amount(after.get(n, before.get(n, {})), resource) for n in self.nodes] for resource in RESOURCES
        ]
        self.allocatable: Ints = np.array(allocatable, dtype=np.int64)  # [resources, nodes]
        known_nodes = set(collected.names)
        pods = [pod for pod in base if pod.node_name in known_nodes]
        self._rows: dict[str, int] = {}
        # Rows are known only afterwards; here only workloads and requests are needed.
        based = [self.describe_pod(pod) for pod in pods]
        self._rows = {pod.key: row for row, pod in enumerate(pods)}
        self._on = np.array([self.places[pod.node_name] for pod in pods], dtype=np.intp)
        self._owner = np.array([usage_pod.owner for usage_pod in based], dtype=np.intp)
        self._requests = np.array([usage_pod.requests for usage_pod in based]).reshape(len(pods), len(self.figures))
        self._cache: dict[int, Amounts] = {}

    def describe_pod(self, pod: Pod) -> UsagePod:
        """Return the data from which a pod's use is estimated; a replacement counts as the pod that it replaces."""
        # The simulation names a replacement "pod-again1".
        first = pod.key.rpartition("-again")[0] or pod.key
        workload = workload_of(pod, self._objects) or ""
        owner = self._owners.get(workload, len(self._owners))
        requests = np.array([float(pod.requests.get(resource, 0) * PER_UNIT[resource]) for resource in RESOURCES])
        return UsagePod(self._rows.get(pod.key, self._rows.get(first, -1)), owner, requests[self._resource], workload)

    def amounts_at(self, place: int) -> Amounts:
        """Return the amounts at the collected time with index ``place``."""
        if place not in self._cache:
            if len(self._cache) >= MOST_KEPT:
                self._cache = {}
            self._cache[place] = self._compute_amounts(place)
        return self._cache[place]

    def _compute_amounts(self, place: int) -> Amounts:
        watermarks = self.played.collected.watermarks_at(place)
        used = np.array([watermarks.figures[figure] for figure in self.figures]).reshape(self._has.shape)
        unmeasured, total = np.isnan(used), np.nan_to_num(used / 100.0 * self._has)
        by_workload = self._use_by_workload(place)
        mine = by_workload[self._owner]
        unknown = np.isnan(mine)
        shares = self._share_use(total, mine, unmeasured)
        outside_pods = np.maximum(total.round().astype(np.int64) - self._by_node(shares).astype(np.int64), 0)
        outside_pods = np.hstack(
            [outside_pods, np.zeros((len(outside_pods), len(self.nodes) - self._known_count), dtype=np.int64)]
        )
        # The ratio comes from pods whose share was guessed from their requests on a measured node.
        counts = unknown & ~unmeasured.T[self._on]
        guessed, requested = np.where(counts, shares, 0).sum(axis=0), np.where(counts, self._requests, 0.0).sum(axis=0)
        ratio = np.divide(guessed, requested, out=np.ones(len(self.figures)), where=requested > 0.0)
        return Amounts(self._with_relative_times(watermarks), outside_pods, shares, by_workload, ratio)

    def _with_relative_times(self, watermarks: Watermarks) -> Watermarks:
        """Return ``watermarks`` for all nodes, with times relative to the base.

        Figures of a history count as just measured at each of its times.
        """
        updated = watermarks.updated - self.played.now
        if self.played.window:
            silent = np.isnan(list(watermarks.figures.values())).all(axis=0)
            updated = np.where(silent, math.nan, 0.0)
        return replace(watermarks, updated=updated).align_to(self.nodes)

    def _use_by_workload(self, place: int) -> Floats:
        """Return the use of one pod of each workload. Shape [workloads + 1, figures]."""
        workloads = self.played.collected.workloads
        by_workload = np.full((len(self._owners) + 1, len(self.figures)), math.nan)
        for column, (resource, key) in zip(by_workload.T, self.figures, strict=True):
            for window in (key, *KEYS):
                if (values := workloads.get((resource, window))) is not None:
                    column[:-1] = np.where(np.isnan(column[:-1]), values[place] * FINE[resource], column[:-1])
        return by_workload

    def _share_use(self, total: Floats, pod_use: Floats, unmeasured: NDArray[np.bool_]) -> Ints:
        """Return each base pod's share of its node's ``total`` [figures, nodes]; ``pod_use`` is f8[pods, figures]."""
        known_use = np.nan_to_num(pod_use)
        sums = self._by_node(known_use)
        # On a node without a figure there is nothing to scale to: its pods use what is known, or what they request.
        less = np.divide(total, sums, out=np.ones_like(total), where=(sums > total) & ~unmeasured)
        remaining = np.maximum(total - sums, 0.0)
        requested = np.where(np.isnan(pod_use), self._requests, 0.0)
        wants = self._by_node(requested)
        part = np.divide(remaining, wants, out=np.ones_like(remaining), where=(wants > remaining) & ~unmeasured)
        # Rounded down, so that the shares of a node never exceed its total.
        shares: Ints = np.floor(known_use * less.T[self._on] + requested * part.T[self._on]).astype(np.int64)
        return shares

    def _by_node(self, values: Floats | Ints) -> Floats:
        """Sum ``values`` [pods, figures] by known node. Shape [figures, nodes]."""
        return _sum_values(values, self._on, self._has.shape)


class EstimatedUse:
    """Sum the use of running pods by node."""

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate
        self._now = 0.0
        self._amounts = estimate.amounts_at(estimate.played.index_at(0.0))
        # Use by node, i8[figures, nodes]. It is kept up to date pod by pod, which integers allow without drift.
        self._used = self._amounts.outside_pods.copy()
        # Column of the node, and the pod, by key.
        self._running: dict[str, tuple[int, UsagePod]] = {}
        # Nodes that were not measured, bool[nodes].
        self._new = np.arange(len(estimate.nodes)) >= len(estimate.played.collected.names)
        # Workloads whose pods share a load, with the pods that would use it if it is not given.
        self._shares: dict[str, tuple[Share, list[UsagePod]]] = {}

    def share(self, workload: str, share: Share, pods: Sequence[Pod], now: float) -> None:
        """Let the workload's pods share the CPU that ``pods`` would use, or the load of ``share``, from ``now`` on."""
        self._shares[workload] = share, [self._estimate.describe_pod(pod) for pod in pods]
        self._sum_by_node()

    def shared(self, workload: str, now: float) -> float:
        """Return the cores that the pods of a sharing workload use together."""
        self._switch_amounts(now)
        row = self._estimate.shortest
        return float(self._combined_use(workload, now)[row]) / FINE[CPU] if row is not None else 0.0

    def _combined_use(self, workload: str, now: float) -> Floats:
        """Return the use of all pods of the workload together by figure, in micro-cores."""
        share, whos = self._shares[workload]
        if share.load is not None:
            return np.full(len(self._estimate.figures), share.load.cores_at(now) * FINE[CPU])
        together: Floats = (
            self._pod_use(whos).sum(axis=0).astype(np.float64) if whos else np.zeros(len(self._estimate.figures))
        )
        return together

    def _divide_shares(self, now: float) -> Ints:
        """Return the use of nodes by pods that share a load. Shape [figures, nodes]."""
        used = np.zeros_like(self._used)
        on: dict[str, list[int]] = {}
        for place, usage_pod in self._running.values():
            if usage_pod.workload in self._shares:
                on.setdefault(usage_pod.workload, []).append(place)
        for workload, places in on.items():
            limit = self._shares[workload][0].max_cores * FINE[CPU]
            per_pod = np.minimum(self._combined_use(workload, now) / len(places), limit)
            counts = np.bincount(places, minlength=used.shape[1])
            used += (np.where(self._estimate.of_cpu, per_pod, 0.0)[:, None] * counts).round().astype(np.int64)
        return used

    def copy(self) -> EstimatedUse:
        """Return an independent copy."""
        other = copy.copy(self)
        other._used, other._running, other._shares = self._used.copy(), dict(self._running), dict(self._shares)
        return other

    @property
    def interval(self) -> float:
        """Seconds until the next measurement."""
        return OFTEN if self._now < FIRST else SELDOM

    def add_pod(self, pod: Pod, now: float) -> None:
        place = self._estimate.places.get(pod.node_name)
        if place is not None:
            self._running[pod.key] = place, self._estimate.describe_pod(pod)
            self._add_pod_use(*self._running[pod.key], 1)

    def remove_pod(self, pod: Pod, now: float) -> None:
        if pod.key in self._running:
            self._add_pod_use(*self._running.pop(pod.key), -1)

    def measured(self, now: float) -> Watermarks:
        self._now = now
        self._switch_amounts(now)
        watermarks, estimate, new = self._amounts.watermarks, self._estimate, self._new
        used = self._used + self._divide_shares(now) if self._shares else self._used
        # Figures in percent of capacity are left out, because they are computed from these.
        figures = {
            figure: column for figure, column in watermarks.figures.items() if not figure[1].endswith("_capacity")
        }
        for row, figure in enumerate(estimate.figures):
            has = estimate.allocatable[RESOURCES.index(figure[0])]
            percent = np.divide(100.0 * used[row], has, out=np.zeros(len(has)), where=has > 0)
            figures[figure] = np.where(np.isnan(watermarks.figures[figure]) & ~new, math.nan, percent)
        return replace(watermarks, updated=np.where(new, now, watermarks.updated + now), figures=figures)

    def _switch_amounts(self, now: float) -> None:
        """Switch to the amounts collected for ``now``, and sum anew if they are others."""
        amounts = self._estimate.amounts_at(self._estimate.played.index_at(now))
        if amounts is self._amounts:
            return
        self._amounts = amounts
        self._sum_by_node()

    def _sum_by_node(self) -> None:
        """Sum the use of each node: its own, and that of the pods on it."""
        self._used = self._amounts.outside_pods.copy()
        if self._running:
            places, whos = zip(*self._running.values(), strict=True)
            by_node = _sum_values(self._unshared_use(whos), np.array(places, dtype=np.intp), self._used.shape)
            self._used += by_node.astype(np.int64)

    def _add_pod_use(self, place: int, usage_pod: UsagePod, sign: int) -> None:
        self._used[:, place] += sign * self._unshared_use([usage_pod])[0]

    def _unshared_use(self, whos: Sequence[UsagePod]) -> Ints:
        """Return the use of pods without CPU that they share. Shape [pods, figures]."""
        amounts = self._pod_use(whos)
        if self._shares:
            shares = np.array([usage_pod.workload in self._shares for usage_pod in whos])
            amounts[np.ix_(shares, self._estimate.of_cpu)] = 0
        return amounts

    def _pod_use(self, whos: Iterable[UsagePod]) -> Ints:
        rows, owners, requests, _ = zip(*whos, strict=True)
        return self._amounts.pod_use(np.array(rows, dtype=np.intp), np.array(owners, dtype=np.intp), np.array(requests))


def _sum_values(values: Floats | Ints, on: Places, shape: tuple[int, ...]) -> Floats:
    """Sum ``values`` [pods, figures] by node. Shape [figures, nodes]."""
    summed = [np.bincount(on, weights=column, minlength=shape[1]) for column in values.T]
    return np.array(summed, dtype=np.float64).reshape(shape)


def _fine_amount(amounts: Mapping[str, int], resource: str) -> int:
    return amounts.get(resource, 0) * PER_UNIT[resource]
