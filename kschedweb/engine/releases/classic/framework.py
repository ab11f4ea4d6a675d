"""A framework of predicates and priorities, so that plans work for them as for a profile's plugins."""

from __future__ import annotations

from kschedweb.engine.config import Profile
from kschedweb.engine.framework.explanation import FilterColumn, ScoreColumn
from kschedweb.engine.framework.interface import Cycle, FilterPlugin, ScorePlugin
from kschedweb.engine.framework.points import Points
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.releases.classic import words
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.state.columns import Ints, Rows


class ClassicFramework(Framework):
    """The predicates and priorities of ``algorithm``; with 1.9, reasons have short names."""

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__(Profile("", None, {}, {}), {})
        self.weights = dict(algorithm.weights)
        # A priority that subclasses a plugin also has its filter.
        predicates, priorities = algorithm.predicates, algorithm.priorities
        self.points = Points.of(
            {"preFilter": predicates, "filter": predicates, "preScore": priorities, "score": priorities}
        )
        self._instances = {plugin.name: plugin for plugin in algorithm.plugins}
        self._short = algorithm.edition.old

    def ask_filter(self, plugin: FilterPlugin, cycle: Cycle, rows: Rows) -> FilterColumn:
        column = super().ask_filter(plugin, cycle, rows)
        if not self._short:
            return column
        return FilterColumn(column.plugin, False, column.codes, [words.short(one) for one in column.verdicts])

    def normalized(self, plugin: ScorePlugin, cycle: Cycle, rows: Rows, raw: Ints) -> ScoreColumn:
        """The reduced scores; unlike a framework's, they have no bounds to check."""
        reducing = self.points.normalizing.get(plugin.name)
        scores = raw if reducing is None else reducing.normalize_score(cycle, rows, raw)
        return ScoreColumn(plugin.name, self.weights[plugin.name], raw, scores)
