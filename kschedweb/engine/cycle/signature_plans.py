"""The answers of a profile's plugins about pods of one signature: computed once, updated as pods come and go.

The first pod of a signature is placed without a plan, by running every plugin. The second one creates the plan.
Plugins that look no further than a node (``PluginScope`` below ``CLUSTER``, "near" in names here) run on all nodes when
the plan is created, and later only on nodes whose pods have changed. If only a node's room matters, nodes with the same
room share the answer. All other plugins ("far") run in each cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.cycle.node_walk import NOWHERE, Filtered, heap_root, merge_first_rejections, walk_order
from kschedweb.engine.framework.cached_answers import CachedPreFilters, CachedPreScores
from kschedweb.engine.framework.explanation import FilterColumn, ScoreColumn
from kschedweb.engine.framework.interface import (
    Cycle,
    CycleState,
    FilterPlugin,
    Plugin,
    PluginScope,
    PreFilterResult,
    ScorePlugin,
)
from kschedweb.engine.framework.runtime import Framework, PreFilterOutcome, out_of_range
from kschedweb.engine.framework.status import Code, CycleError, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import ALL, Codes, Ints, Rows
from kschedweb.engine.state.snapshot import Snapshot

# The most signatures of pods, or of rooms, that are remembered.
MANY = 1 << 16
# The most nodes times plans kept, at about 100 bytes each.
MAX_PLANNED = 1 << 21


class SignaturePlans:
    """The plans for pods on ``snapshot``; the least recently used ones are dropped."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._plans: dict[Hashable, tuple[SignaturePlan, Hashable]] = {}
        self._seen: set[Hashable] = set()

    def for_snapshot(self, snapshot: Snapshot) -> SignaturePlans:
        """Return empty plans for another snapshot, which remember the signatures seen."""
        other = SignaturePlans(snapshot)
        other._seen = self._seen
        return other

    def get(self, framework: Framework, pod: Pod) -> SignaturePlan | AdHocPlan:
        """Return the plan for ``pod``; without one of its signature, a plan for this pod only."""
        kind, selections = pod.signature, self._snapshot.objects.selection_version(pod)
        # Popped and put back, so that the dict is ordered by last use.
        plan, made_for = self._plans.pop(kind, (None, None))
        if plan is None or made_for != selections:
            if kind not in self._seen:
                if len(self._seen) >= MANY:
                    self._seen.clear()
                self._seen.add(kind)
                return AdHocPlan(framework, self._snapshot)
            if len(self._plans) * len(self._snapshot) >= MAX_PLANNED:
                del self._plans[next(iter(self._plans))]
            plan = SignaturePlan(framework, self._snapshot, pod)
        self._plans[kind] = plan, selections
        return plan


class AdHocPlan:
    """A plan that runs every plugin, for a pod that may be the only one of its signature."""

    def __init__(self, framework: Framework, snapshot: Snapshot) -> None:
        self.framework, self._snapshot = framework, snapshot

    def create_cycle(self, pod: Pod) -> Cycle:
        """Return a new cycle for ``pod``."""
        return Cycle(self._snapshot, pod)

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        return self.framework.pre_filter(cycle)

    def run_filter_plugins(self, cycle: Cycle, outcome: PreFilterOutcome) -> Filtered:
        """Return every filter's verdict on every node."""
        return Filtered.from_columns(self.framework.filter(cycle, outcome.skipped), len(self._snapshot))

    def compute_totals(self, cycle: Cycle, rows: NDArray[np.intp]) -> Scored:
        """Return the total scores of the feasible nodes ``rows``. Raises CycleError."""
        node_slice = _to_slice(rows, len(self._snapshot))
        columns = self.framework.score(cycle, node_slice, self.framework.pre_score(cycle, node_slice))
        return Scored(sum((column.weighted for column in columns), np.zeros(len(rows), dtype=np.int64)), columns)

    def split_totals(self, scored: Scored, rows: NDArray[np.intp], places: list[int]) -> list[dict[str, int]]:
        """Return, by plugin, its part of the totals of the nodes at ``places`` of ``rows``."""
        return [{column.plugin: int(column.weighted[place]) for column in scored.columns} for place in places]


class Scored(NamedTuple):
    """The totals of some nodes, with the scores that were computed for them; both may change with the next cycle."""

    totals: Ints
    columns: list[ScoreColumn]
    # Returns the totals in the order of `walk_order`, if they are kept that way.
    walked: Callable[[], Ints] | None = None

    def select_root(self) -> int:
        """Return the place of the node that kube-scheduler's heap brings to the root."""
        if self.walked is None:
            return heap_root(self.totals)
        # argmax takes the first of equal totals, which in this order is the heap's root.
        return int(walk_order(len(self.totals)).places[self.walked().argmax()])


class NodeAnswer(NamedTuple):
    """The answers about one node that change with its pods."""

    # Of the filters, in order.
    codes: tuple[int, ...]
    # The position of the first filter that rejects the node, or NOWHERE.
    first: int
    score: int
    # The parts of the score, by plugin.
    parts: tuple[int, ...]


class Preference(NamedTuple):
    """Raw scores that never change, to be normalized over the feasible nodes."""

    plugin: ScorePlugin
    weight: int
    raw: Ints


class SignaturePlan:
    """The plan for pods like ``pod`` on ``snapshot``."""

    def __init__(self, framework: Framework, snapshot: Snapshot, pod: Pod) -> None:
        self.framework, self._snapshot, self._pod = framework, snapshot, pod
        self._memo: CycleState = {}
        self._scopes = {plugin.name: framework.plugin_scope(plugin, pod) for plugin in framework.instances}
        self._pre_filters: dict[str, tuple[PreFilterResult, CycleState]] = {}
        for plugin in framework.points.pre_filter:
            if self._is_node_scoped(plugin):
                probe = self.create_cycle(pod)
                self._pre_filters[plugin.name] = framework.ask_pre_filter(plugin, probe), probe.state
        self._known_pre_filters = CachedPreFilters(framework.points.pre_filter, self._pre_filters)
        # The version of the snapshot's pods for which everything below is valid.
        self._version = -1
        self._columns: list[FilterColumn] = []
        self._feasible: NDArray[np.intp] | None = None
        self._by_room: dict[Hashable, NodeAnswer] = {}
        # The scores in the order of the walk, once they are asked for in it.
        self._walked: Ints | None = None
        self._turns: list[int] = []

    def _is_node_scoped(self, plugin: Plugin) -> bool:
        return self._scopes[plugin.name] < PluginScope.CLUSTER

    def create_cycle(self, pod: Pod) -> Cycle:
        """Return a new cycle for ``pod``."""
        return Cycle(self._snapshot, pod, {}, self._memo)

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        return self.framework.pre_filter(cycle, self._known_pre_filters)

    def run_filter_plugins(self, cycle: Cycle, outcome: PreFilterOutcome) -> Filtered:
        """Return every filter's verdict on every node; the columns change with the next call."""
        self._refresh_nodes()
        far_filters = [
            (position, plugin) for position, plugin in self._far_filters if plugin.name not in outcome.skipped
        ]
        if self._feasible is None:
            self._feasible = np.flatnonzero(self._first == NOWHERE)
        if not far_filters:
            return Filtered(self._columns, self._first, self._feasible)
        columns, first = list(self._columns), self._first
        for position, plugin in far_filters:
            columns[position] = self.framework.ask_filter(plugin, cycle, ALL)
            first = merge_first_rejections(first, columns[position], position)
        feasible = self._feasible if first is self._first else np.flatnonzero(first == NOWHERE)
        return Filtered(columns, first, feasible)

    def compute_totals(self, cycle: Cycle, rows: NDArray[np.intp]) -> Scored:
        """Return the total scores of the feasible nodes ``rows``, less what all nodes get alike. Raises CycleError."""
        node_slice = _to_slice(rows, len(self._snapshot))
        skipped = self.framework.pre_score(cycle, node_slice, self._known_pre_scores)
        total, columns = self._score[node_slice], []
        for preference in self._preferences:
            if preference.plugin.name not in skipped:
                raw = preference.raw[node_slice]
                columns.append(self.framework.normalize_scores(preference.plugin, cycle, node_slice, raw))
        for plugin in self._far_scores:
            if plugin.name not in skipped:
                columns.append(self.framework.ask_score(plugin, cycle, node_slice))
        if not columns and node_slice is ALL:
            return Scored(total, columns, self._walk_scores)
        for column in columns:
            total = total + column.weighted
        return Scored(total, columns)

    def _walk_scores(self) -> Ints:
        if self._walked is None:
            walk = walk_order(len(self._snapshot))
            self._walked, self._turns = self._score[walk.places], walk.turns
        return self._walked

    def split_totals(self, scored: Scored, rows: NDArray[np.intp], places: list[int]) -> list[dict[str, int]]:
        """Return, by plugin, its part of the totals of the nodes at ``places`` of ``rows``, with what all nodes get."""
        weighted_scores = {column.plugin: column.weighted for column in scored.columns}
        aging = {plugin.name: row for row, plugin in enumerate(self._aging_scores)}
        plugin_names = [
            name for name in self.framework.weights if name in weighted_scores or name in aging or name in self._fixed
        ]
        result = []
        for place in places:
            node = int(rows[place])
            parts = {}
            for name in plugin_names:
                if name in weighted_scores:
                    parts[name] = int(weighted_scores[name][place])
                elif name in aging:
                    parts[name] = int(self._parts[aging[name], node])
                else:
                    fixed = self._fixed[name]
                    parts[name] = fixed if isinstance(fixed, int) else int(fixed[node])
            result.append(parts)
        return result

    def _refresh_nodes(self) -> None:
        """Update what is known of the nodes whose pods have changed."""
        pods = self._snapshot.pods
        moves = pods.moves_since(self._version) if self._version >= 0 else None
        # With many moves, building all columns at once is cheaper than single nodes.
        if moves is None or len(moves) > len(self._snapshot):
            self._build_columns()
        elif moves and (self._aging_filters or self._aging_scores):
            self._update_nodes({move.node for move in moves})
        self._version = pods.version

    def _build_columns(self) -> None:
        self._feasible = None
        self._by_room.clear()
        cycle = self.create_cycle(self._pod)
        for _, state in self._pre_filters.values():
            cycle.state.update(state)
        self._build_filters(cycle)
        self._build_scores(cycle)
        self._state = cycle.state
        aging: list[Plugin] = [*self._aging_scores, *(plugin for _, plugin in self._aging_filters)]
        self._share = all(self._scopes[plugin.name] is PluginScope.ROOM for plugin in aging)

    def _build_filters(self, cycle: Cycle) -> None:
        skipped = {name for name, (result, _) in self._pre_filters.items() if result.status.code is Code.SKIP}
        self._columns = []
        self._aging_filters: list[tuple[int, FilterPlugin]] = []
        self._far_filters: list[tuple[int, FilterPlugin]] = []
        size = len(self._snapshot)
        self._fixed_first: Codes = np.full(size, NOWHERE, dtype=np.int32)
        self._first: Codes = self._fixed_first
        for position, plugin in enumerate(self.framework.points.filter):
            column = FilterColumn.for_skipped_filter(plugin.name, size)
            if not self._is_node_scoped(plugin):
                self._far_filters.append((position, plugin))
            elif plugin.name not in skipped:
                column = self.framework.ask_filter(plugin, cycle, ALL)
                self._first = merge_first_rejections(self._first, column, position)
                if self._scopes[plugin.name] is PluginScope.NODE:
                    self._fixed_first = merge_first_rejections(self._fixed_first, column, position)
                else:
                    self._aging_filters.append((position, plugin))
            self._columns.append(column)
        # Copied, because rooms that fill up must not change the fixed part.
        if self._first is self._fixed_first:
            self._first = self._fixed_first.copy()

    def _build_scores(self, cycle: Cycle) -> None:
        pre_scores: dict[str, tuple[Status, CycleState]] = {}
        for pre_score_plugin in self.framework.points.pre_score:
            if self._is_node_scoped(pre_score_plugin):
                probe = Cycle(self._snapshot, self._pod, dict(cycle.state), self._memo)
                pre_scores[pre_score_plugin.name] = (
                    self.framework.ask_pre_score(pre_score_plugin, probe, ALL),
                    probe.state,
                )
        self._known_pre_scores = CachedPreScores(self.framework.points.pre_score, pre_scores)
        for _, state in pre_scores.values():
            cycle.state.update(state)
        self._aging_scores: list[ScorePlugin] = []
        # Scores by plugins that look only at node objects; one number if all nodes get the same.
        self._fixed: dict[str, Ints | int] = {}
        parts: list[Ints] = []
        self._far_scores: list[ScorePlugin] = []
        self._preferences: list[Preference] = []
        self._fixed_score: Ints = np.zeros(len(self._snapshot), dtype=np.int64)
        self._score: Ints = self._fixed_score.copy()
        for plugin in self.framework.points.score:
            status = pre_scores.get(plugin.name)
            if status is None or status[0].code is not Code.SKIP:
                self._build_score(plugin, cycle, parts)
        self._parts: Ints = np.array(parts, dtype=np.int64).reshape(len(parts), len(self._snapshot))
        self._walked = None

    def _build_score(self, plugin: ScorePlugin, cycle: Cycle, parts: list[Ints]) -> None:
        scope, weight = self._scopes[plugin.name], self.framework.weights[plugin.name]
        normalizes = plugin.name in self.framework.points.normalizing
        raw: Ints | None = None
        if scope is PluginScope.NODE or (scope < PluginScope.CLUSTER and not normalizes):
            # The error is raised again in each cycle that reaches this plugin.
            with suppress(CycleError):
                raw = self.framework.raw_score(plugin, cycle, ALL)
        if raw is None or (out_of_range(raw) and not normalizes):
            self._far_scores.append(plugin)
        elif normalizes:
            if raw.size and raw.min() != raw.max():
                self._preferences.append(Preference(plugin, weight, raw))
            # All nodes get the same, so that it does not change which is best.
            elif raw.size:
                with suppress(CycleError):
                    self._fixed[plugin.name] = int(self.framework.normalize_scores(plugin, cycle, ALL, raw).weighted[0])
        else:
            self._score += weight * raw
            if scope is PluginScope.NODE:
                self._fixed_score += weight * raw
                self._fixed[plugin.name] = weight * raw if raw.any() else 0
            else:
                self._aging_scores.append(plugin)
                parts.append(weight * raw)

    def _update_nodes(self, nodes: Iterable[int]) -> None:
        unknown = []
        for node in nodes:
            answer = self._by_room.get(self._snapshot.room_signature(node)) if self._share else None
            if answer is None:
                unknown.append(node)
            else:
                self._store_answer(node, answer)
        if not unknown:
            return
        answers = self._ask_aging_plugins(np.array(unknown, dtype=np.intp))
        if answers is None:
            self._build_columns()
            return
        if len(self._by_room) > MANY:
            self._by_room.clear()
        for node, answer in zip(unknown, answers, strict=True):
            self._store_answer(node, answer)
            if self._share:
                self._by_room[self._snapshot.room_signature(node)] = answer

    def _ask_aging_plugins(self, rows: NDArray[np.intp]) -> list[NodeAnswer] | None:
        """Return the answers about ``rows`` that change with pods; None if a score is out of range."""
        cycle = Cycle(self._snapshot, self._pod, dict(self._state), self._memo)
        codes, first = [], np.full(len(rows), NOWHERE, dtype=np.int32)
        # In reverse, so that the first filter that rejects a node is written last.
        for position, aging in reversed(self._aging_filters):
            column = self.framework.ask_filter(aging, cycle, rows)
            verdicts = self._columns[position].verdicts
            verdicts.extend(verdict for verdict in column.verdicts if verdict not in verdicts)
            codes.append([verdicts.index(column.verdicts[code]) for code in column.codes.tolist()])
            first[column.codes != 0] = position
        parts = np.zeros((len(self._aging_scores), len(rows)), dtype=np.int64)
        for row, plugin in enumerate(self._aging_scores):
            raw = self.framework.raw_score(plugin, cycle, rows)
            if out_of_range(raw):
                return None
            parts[row] = self.framework.weights[plugin.name] * raw
        by_row = list(zip(*reversed(codes), strict=True)) or [()] * len(rows)
        score, columns = parts.sum(axis=0).tolist(), parts.T.tolist()
        answers = zip(by_row, first.tolist(), score, columns, strict=True)
        return [NodeAnswer(code, first_rejection, total, tuple(part)) for code, first_rejection, total, part in answers]

    def _store_answer(self, node: int, answer: NodeAnswer) -> None:
        for (position, _), code in zip(self._aging_filters, answer.codes, strict=True):
            self._columns[position].codes[node] = code
        first = min(int(self._fixed_first[node]), answer.first)
        if (first == NOWHERE) != (self._first[node] == NOWHERE):
            self._feasible = None
        self._first[node] = first
        self._score[node] = score = self._fixed_score[node] + answer.score
        if self._walked is not None:
            self._walked[self._turns[node]] = score
        self._parts[:, node] = answer.parts


def _to_slice(rows: NDArray[np.intp], size: int) -> Rows:
    """Return ``rows``, or ALL if they are all nodes: slices are faster than indices."""
    return ALL if len(rows) == size and rows[0] == 0 else rows
