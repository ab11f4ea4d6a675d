"""Priorities that count pods: SelectorSpread, ServiceAntiAffinity, InterPodAffinity."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.plugins.interpodaffinity import SCORE, InterPodAffinity
from kschedweb.engine.releases.classic.objects import faults_of, find_placed_fault
from kschedweb.engine.releases.classic.owners import find_service_selectors, get_selectors
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.state.columns import ALL, Floats, Ints, LabelColumn, Mask, Rows
from kschedweb.engine.state.label_groups import Selection
from kschedweb.engine.state.pod_table import Follower, PodDelta
from kschedweb.engine.state.snapshot import Snapshot

MAX_PRIORITY = 10
# The original's `zoneWeighting`.
ZONE_WEIGHT = 2.0 / 3.0


class PodCounts(Follower):
    """The number of pods of a namespace on each node that match one of the selectors, kept up to date as pods move."""

    def __init__(self, snapshot: Snapshot, namespace: str, selectors: list[Selector], *, terminating: bool) -> None:
        super().__init__(snapshot.pods)
        self._nodes = len(snapshot)
        namespaces = frozenset({namespace})
        self._selections = [Selection(((namespaces, selector),), terminating=terminating) for selector in selectors]

    def current_counts(self) -> Ints | None:
        """Return the current counts; ``None`` without selectors.

        The array changes with the next call. Shape [nodes].
        """
        if not self._selections:
            return None
        self._catch_up()
        return self._counts

    def _matching_groups(self) -> Mask:
        """Return a mask of the groups of pods that a selector matches."""
        meant: Mask = np.logical_or.reduce(
            [self._pods.groups.match_selection(selection) for selection in self._selections]
        )
        return meant

    def _recount_all(self) -> None:
        nodes = self._pods.node[self._matching_groups()[self._pods.group]]
        self._counts = np.bincount(nodes + 1, minlength=self._nodes + 1)[1:]

    def _apply_moves(self, moves: list[PodDelta]) -> None:
        meant = self._matching_groups()
        for move in moves:
            if meant[move.group]:
                self._counts[move.node] += move.sign


class Spreading:
    """A priority that counts pods of the same services and controllers on each node; fewer are better."""

    # True if pods that are being deleted count.
    terminating = False

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        def create_counts() -> PodCounts:
            selectors, namespace = self.list_selectors(cycle), cycle.pod.namespace
            return PodCounts(cycle.snapshot, namespace, selectors, terminating=self.terminating)

        counts = cycle.memoize(f"{self.name}.counts", create_counts).current_counts()
        return np.zeros(cycle.num_rows(rows), dtype=np.int64) if counts is None else counts[rows]

    def list_selectors(self, cycle: Cycle) -> list[Selector]:
        """Return the selectors. A pod that matches one of them is counted."""
        raise NotImplementedError


class SelectorSpread(Spreading):
    """A priority with 10 for nodes without such pods, 0 for those with the most; the zone makes up two thirds of the
    score.

    Pods of the pod's services and controllers count. ServiceSpreadingPriority was meant to count services only, but it
    uses the selectors computed for both, so it is the same.
    """

    def list_selectors(self, cycle: Cycle) -> list[Selector]:
        return get_selectors(cycle.snapshot.objects, cycle.pod)

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        maximum = int(scores.max(initial=0))
        if maximum == 0:
            return np.full(len(scores), MAX_PRIORITY, dtype=np.int64)
        by_node = _scale_inverted(scores, maximum)
        zones = _get_zones(cycle)
        codes = zones.codes[rows]
        if not zones.values:
            return by_node.astype(np.int64)
        by_zone = np.bincount(codes + 1, scores, len(zones.values) + 1)[1:].astype(np.int64)
        zone_scores = (
            _scale_inverted(by_zone, int(by_zone.max()))
            if by_zone.any()
            else np.full(len(by_zone), float(MAX_PRIORITY))
        )
        mixed = by_node * (1.0 - ZONE_WEIGHT) + (ZONE_WEIGHT * zone_scores)[codes]
        return (mixed if zones.present.all() else np.where(codes >= 0, mixed, by_node)).astype(np.int64)


class ServiceAntiAffinity(Spreading):
    """A priority with ``serviceAntiAffinity``: it spreads the pods of the pod's first service over the values of a
    label.

    The score is 10 for a value without such pods and falls with their number; nodes without the label get 0.
    """

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self.label = str(argument.get("label") or "")

    def list_selectors(self, cycle: Cycle) -> list[Selector]:
        return find_service_selectors(cycle.snapshot.objects, cycle.pod)[:1]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        column = cycle.snapshot.label_column(self.label)
        codes, total = column.codes[rows], self.count_pods(cycle, scores)
        by_value = np.full(len(column.values), float(MAX_PRIORITY))
        if total > 0 and column.values:
            counts = np.bincount(codes + 1, scores, len(column.values) + 1)[1:].astype(np.int64)
            by_value = _scale_inverted(counts, total)
        return np.where(codes >= 0, np.append(by_value, 0.0)[codes], 0.0).astype(np.int64)

    def count_pods(self, cycle: Cycle, scores: Ints) -> int:
        """Return the total number of pods to spread."""
        return int(scores.sum())


class PlainServiceAntiAffinity(ServiceAntiAffinity):
    """The priority of 1.9: the total includes pods on infeasible nodes, and terminating pods."""

    terminating = True

    def count_pods(self, cycle: Cycle, scores: Ints) -> int:
        return int(self.score(cycle, ALL).sum())


class InterPodAffinityPriority(InterPodAffinity):
    """A priority by the weights of preferred terms, of the pod and of placed pods about it, that hold at the node.

    Sums are scaled to 0 to 10, from the lowest sum (at most 0) to the highest (at least 0). Required affinity terms of
    placed pods have the hard weight.
    """

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__({"hardPodAffinityWeight": argument.get("hardPodAffinityWeight", 1)})
        self.name = name

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        """Prepare the counts.

        Raises CycleError for a term that cannot be parsed, which 1.13 reads if a pod is placed.
        """
        pods, faults = cycle.snapshot.pods, faults_of(cycle.pod.pod_affinity)
        fault = (faults.preferred or faults.anti_preferred) if pods.slots else ""
        fault = fault or find_placed_fault(pods, "required", "preferred", "anti_preferred")
        if fault:
            raise CycleError(fault)
        return super().pre_score(cycle, rows)

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        if SCORE not in cycle.state:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        return super().score(cycle, rows)

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        lowest, highest = min(0, int(scores.min(initial=0))), max(0, int(scores.max(initial=0)))
        if lowest == highest:
            return np.zeros_like(scores)
        share = (scores - lowest).astype(np.float64) / float(highest - lowest)
        return (float(MAX_PRIORITY) * share).astype(np.int64)


def _scale_inverted(counts: Ints, maximum: int) -> Floats:
    """Return 10 times the share of ``maximum`` that ``counts`` leaves."""
    return float(MAX_PRIORITY) * ((maximum - counts).astype(np.float64) / float(maximum))


def _get_zones(cycle: Cycle) -> LabelColumn:
    assert isinstance(cycle.snapshot, ClassicSnapshot)
    return cycle.snapshot.zones()
