"""A framework of predicates and priorities, so that plans work for them as for a profile's plugins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kschedweb.engine.framework.events import EVERYTHING, POD, EventHint, ObjectChange
from kschedweb.engine.framework.explanation import FilterColumn, ScoreColumn
from kschedweb.engine.framework.interface import Cycle, FilterPlugin, Plugin, ScorePlugin
from kschedweb.engine.framework.points import Points
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.plugins.prioritysort import PrioritySort
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.releases.classic.objects import as_of_then
from kschedweb.engine.releases.classic.preemption import ClassicPreemption
from kschedweb.engine.state.columns import Ints, Rows


class ArrivalSort:
    """The queue of 1.9: pods in the order in which they came, whatever their priority."""

    name = "ArrivalSort"

    def less(self, a: Pod | PodGroup, a_queued: float, b: Pod | PodGroup, b_queued: float) -> bool:
        return a_queued < b_queued


def _is_woken_by(pod: Pod, change: ObjectChange) -> bool:
    """Return whether the change requeues ``pod``.

    A pod on a node requeues those with required affinity to it; a deleted pod requeues all.
    """
    new = change.new
    if not isinstance(new, Pod) or not new.node_name:
        return True
    affinity = as_of_then(pod).pod_affinity
    return any(term.matches(new.namespace, new.labels, {}) for term in affinity.required)


WAKING = tuple(
    EventHint(item.event, _is_woken_by) if item.event.resource == POD else EventHint(item.event) for item in EVERYTHING
)


class ClassicFramework(Framework):
    """The predicates and priorities of ``algorithm``. With 1.9, reasons have short names, and no pod is evicted."""

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__(algorithm.profiles[0], {})
        # A priority that subclasses a plugin also has its filter.
        predicates, priorities = algorithm.predicates, algorithm.priorities
        old, self._every = algorithm.edition.old, algorithm.always_check_all
        points: dict[str, list[Plugin]] = {
            "queueSort": [ArrivalSort() if old else PrioritySort({})],
            "preFilter": [*predicates],
            "filter": [*predicates],
            "postFilter": [] if old else [ClassicPreemption(always_check_all=self._every)],
            "preScore": [*priorities],
            "score": [*priorities],
        }
        self.points = Points.from_plugins(points)
        self._instances = {plugin.name: plugin for plugin in algorithm.plugins}
        self._short = old

    def events_to_register(self, plugin: Plugin) -> Iterable[EventHint]:
        """Return the events that moved pods back into the queue: they are the same for all predicates."""
        return WAKING

    def ask_filter(self, plugin: FilterPlugin, cycle: Cycle, rows: Rows) -> FilterColumn:
        column = super().ask_filter(plugin, cycle, rows)
        if not self._short:
            return column
        return FilterColumn(
            column.plugin, False, column.codes, [reasons.shorten_reasons(status) for status in column.verdicts]
        )

    def filter_one(self, cycle: Cycle, skipped: set[str], node: int) -> Status:
        """Return the first rejection, with the reasons of all others if every predicate is asked."""
        first = super().filter_one(cycle, skipped, node)
        if first.ok or not self._every:
            return first
        reasons: list[str] = []
        for plugin in self.points.filter:
            column = self.ask_filter(plugin, cycle, slice(node, node + 1))
            if plugin.name not in skipped:
                reasons += column.verdicts[int(column.codes[0])].reasons
        return replace(first, reasons=tuple(reasons))

    def normalize_scores(self, plugin: ScorePlugin, cycle: Cycle, rows: Rows, raw: Ints) -> ScoreColumn:
        """Return the reduced scores. Unlike those of a framework, they have no bounds to check."""
        reducing = self.points.normalizing.get(plugin.name)
        scores = raw if reducing is None else reducing.normalize_score(cycle, rows, raw)
        return ScoreColumn(plugin.name, self.weights[plugin.name], raw, scores)
