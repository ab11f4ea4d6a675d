"""What nodes would use if pods ran elsewhere, estimated from what was measured where they ran."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kschedweb.engine.cluster import ClusterObjects
from kschedweb.engine.columns import Floats, Ints, Mask
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.watermarks.table import Figures, Watermarks

FIRST, OFTEN, SELDOM = 300.0, 1.0, 60.0  # seconds: so long it is measured often, then seldom
RESOURCES = (CPU, MEMORY)
FINE = {CPU: 1_000_000.0, MEMORY: 1.0}  # micro-cores in a core, bytes in a byte: sums of whole numbers are exact
PER_UNIT = {CPU: 1000, MEMORY: 1}  # micro-cores in a milli-core
KEYS = ("1h", "15m", "1d")  # of workloads, where a figure's own is not known
STILL = ("_std", "system")  # figures that are no levels: they stay as they were

Figure = tuple[str, str]  # resource, key


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Who uses what, by ``figures``: whole micro-cores or bytes each.

    ``nodes`` are named, with what they have, i8[2, nodes], and what they use beside their pods, i8[figures, nodes].
    ``pods`` are those of the base by key, i8[figures]; others use what one of their workload does, or ``ratio`` times
    what they request, f8[figures].
    """

    known: Watermarks
    figures: list[Figure]
    nodes: list[str]
    allocatable: Ints
    own: Ints
    pods: Mapping[str, Ints]
    ratio: Floats
    objects: ClusterObjects

    def of(self, pod: Pod) -> Ints:
        """What the pod uses, wherever it runs. Shape [figures]."""
        first = pod.key.rpartition("-again")[0] or pod.key
        for key in (pod.key, first):
            if key in self.pods:
                return self.pods[key]
        told = _told(self.known.workload(pod, self.objects), self.figures)
        asked = np.array([_requested(pod, resource) for resource, _ in self.figures])
        return np.where(np.isnan(told), asked * self.ratio, told).round().astype(np.int64)


def estimate(
    known: Watermarks,
    base: Iterable[Pod],
    before: Mapping[str, Mapping[str, int]],
    after: Mapping[str, Mapping[str, int]],
    objects: ClusterObjects,
) -> Estimate:
    """From what is ``known`` of the pods of the ``base`` on their nodes, which had ``before``, to nodes with ``after``.

    A pod uses what one of its workload does. Those of which nothing is known share what is left of their node's use in
    proportion to what they request, up to that; the rest is the node's own. Where what is known of a node's pods is
    more than the node used, each of them used so much less. Nodes that are new use nothing of their own.
    """
    figures = [key for key in known.figures if key[0] in RESOURCES and not key[1].endswith(("_capacity", *STILL))]
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for pod in base:
        by_node[pod.node_name].append(pod)
    places = {name: place for place, name in enumerate(known.names)}
    nodes = list(dict.fromkeys([*known.names, *after]))
    own = np.zeros((len(figures), len(nodes)), dtype=np.int64)
    pods: dict[str, Ints] = {}
    guessed, asked_for = np.zeros(len(figures)), np.zeros(len(figures))
    for place, name in enumerate(known.names):
        used = np.array([known.figures[figure][places[name]] for figure in figures])
        has = np.array([_fine(before.get(name, {}), resource) for resource, _ in figures])
        total = np.nan_to_num(used / 100.0 * has)
        there = by_node.pop(name, [])
        told = np.array([_told(known.workload(pod, objects), figures) for pod in there]).reshape(-1, len(figures))
        asked = np.array([[_requested(pod, resource) for resource, _ in figures] for pod in there]).reshape(told.shape)
        shares, unknown = _shared(total, told, asked, np.isnan(used)), np.isnan(told)
        pods |= {pod.key: share for pod, share in zip(there, shares, strict=True)}
        own[:, place] = np.maximum(total.round().astype(np.int64) - shares.sum(axis=0), 0)
        measured = ~np.isnan(used)
        guessed += np.where(measured, np.where(unknown, shares, 0).sum(axis=0), 0.0)
        asked_for += np.where(measured, np.where(unknown, asked, 0.0).sum(axis=0), 0.0)
    ratio = np.divide(guessed, asked_for, out=np.ones_like(guessed), where=asked_for > 0.0)
    allocatable = [[_fine(after.get(name, before.get(name, {})), resource) for name in nodes] for resource in RESOURCES]
    return Estimate(known, figures, nodes, np.array(allocatable, dtype=np.int64), own, pods, ratio, objects)


def _shared(total: Floats, told: Floats, asked: Floats, unmeasured: Mask) -> Ints:
    """What each pod of a node uses, of a ``total`` [figures]; ``told`` and ``asked`` are f8[pods, figures]."""
    known = np.nan_to_num(told)
    sums = known.sum(axis=0)
    less = np.divide(total, sums, out=np.ones_like(total), where=(sums > total) & ~unmeasured & (sums > 0.0))
    left = np.maximum(total - sums, 0.0)
    wanted = np.where(np.isnan(told), asked, 0.0)
    wants = wanted.sum(axis=0)
    part = np.divide(left, wants, out=np.ones_like(left), where=(wants > left) & ~unmeasured & (wants > 0.0))
    shares: Ints = np.floor(known * less + wanted * part).astype(np.int64)
    return shares


def _told(figures: Figures | None, wanted: list[Figure]) -> Floats:
    """A pod's use as its workload's figures tell it, NaN where they do not. Shape [figures]."""
    found = []
    for resource, key in wanted:
        told = (figures or {}).get(resource, {})
        value = next((told[one] for one in (key, *KEYS) if one in told), math.nan)
        found.append(value * FINE[resource])
    return np.array(found)


def _requested(pod: Pod, resource: str) -> float:
    return float(pod.requests.get(resource, 0) * PER_UNIT[resource])


def _fine(amounts: Mapping[str, int], resource: str) -> int:
    return amounts.get(resource, 0) * PER_UNIT[resource]


class EstimatedUse:
    """Adds up what running pods use. Figures are as old as they were at the beginning; a change shows at once in all
    of them, also in means over hours. It is measured each second for five minutes, then each minute.
    """

    def __init__(self, estimate: Estimate, shift: float) -> None:
        self._estimate, self._shift = estimate, shift
        self._now = 0.0
        self._places = {name: place for place, name in enumerate(estimate.nodes)}
        self._used = estimate.own.copy()
        self._running: dict[str, tuple[int, Ints]] = {}
        there = set(estimate.known.names)
        self._new = np.array([name not in there for name in estimate.nodes], dtype=np.bool_)
        self._known = estimate.known.aligned(estimate.nodes)

    def copy(self) -> EstimatedUse:
        """One that is told of what follows on its own."""
        other = copy.copy(self)
        other._used, other._running = self._used.copy(), dict(self._running)
        return other

    @property
    def interval(self) -> float:
        """Seconds until it is measured again."""
        return OFTEN if self._now < FIRST else SELDOM

    def came(self, pod: Pod, now: float) -> None:
        place = self._places.get(pod.node_name)
        if place is not None:
            amounts = self._estimate.of(pod)
            self._running[pod.key] = place, amounts
            self._used[:, place] += amounts

    def left(self, pod: Pod, now: float) -> None:
        place, amounts = self._running.pop(pod.key, (-1, None))
        if amounts is not None:
            self._used[:, place] -= amounts

    def measured(self, now: float) -> Watermarks:
        self._now = now
        known, estimate, new = self._known, self._estimate, self._new
        # Figures in percent of capacity are worked out anew from these.
        figures = {figure: column for figure, column in known.figures.items() if not figure[1].endswith("_capacity")}
        for row, figure in enumerate(estimate.figures):
            has = estimate.allocatable[RESOURCES.index(figure[0])]
            percent = np.divide(100.0 * self._used[row], has, out=np.zeros(len(has)), where=has > 0)
            figures[figure] = np.where(np.isnan(known.figures[figure]) & ~new, math.nan, percent)
        updated = np.where(new, now, known.updated - self._shift + now)
        return replace(known, updated=updated, figures=figures)
