"""TaintToleration rejects nodes with taints that the pod does not tolerate, and scores by PreferNoSchedule taints."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.framework.events import NODE, POD, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import PASSED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import default_normalize
from kschedweb.engine.framework.status import SUCCESS, CycleError, Status, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE, has_no_untolerated, is_tolerated
from kschedweb.engine.state.columns import Ints, Rows
from kschedweb.engine.state.nodematching import match_tolerations

TAINTED = "tainted"
REJECTED = unresolvable("node(s) had untolerated taint(s)", fact=TAINTED)


class TaintToleration:
    name = "TaintToleration"

    def __init__(self, args: PluginArgs, comparison_operators: bool = False) -> None:
        """Take the flag of the release.

        ``comparison_operators``: tolerations may compare values, with the operators Gt and Lt.
        """
        self._comparison_operators = comparison_operators

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_TAINT), self._after_node),
            EventHint(ClusterEvent(POD, Action.POD_TOLERATION), _after_toleration),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PASSED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return Verdicts.from_mask(
            ~match_tolerations(cycle.snapshot, cycle.pod, self._comparison_operators)[rows], REJECTED
        )

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        cycle.state[self.name] = tuple(
            toleration for toleration in cycle.pod.tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)
        )
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the number of PreferNoSchedule taints that the pod does not tolerate."""
        if self.name not in cycle.state:
            raise CycleError(
                'running Score plugins: plugin "TaintToleration" failed with: '
                'failed to read "PreScoreTaintToleration" from cycleState: not found'
            )
        # Nodes share few distinct sets of taints, so each set is counted once.
        codes, sets = cycle.snapshot.taint_sets()
        if not any(sets):
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        tolerations = cycle.state[self.name]
        counts = [
            sum(
                taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, tolerations, self._comparison_operators)
                for taint in taints
            )
            for taints in sets
        ]
        return np.array(counts, dtype=np.int64)[codes[rows]]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return default_normalize(scores, reverse=True)

    def _after_node(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if the node has no taint now that keeps the pod away, and is new or had one before."""
        # A node that the pod tolerated before was rejected for another reason, which taints do not change.
        kept_away = change.old is None or not has_no_untolerated(
            change.old.taints, pod.tolerations, self._comparison_operators
        )
        return kept_away and has_no_untolerated(change.new.taints, pod.tolerations, self._comparison_operators)


def _after_toleration(pod: Pod, change: ObjectChange) -> bool:
    return bool(change.new.uid == pod.uid)


def _variant(release: Any) -> PluginVariant:
    comparison_operators = release.is_enabled("TaintTolerationComparisonOperators")
    variant: PluginVariant = {"factory": partial(TaintToleration, comparison_operators=comparison_operators)}
    if not release.behaviour.node_plugins_prefilter:
        variant["points"] = SPEC.points - {"preFilter"}
    return variant


SPEC = PluginSpec(
    "TaintToleration",
    frozenset({"preFilter", "filter", "preScore", "score"}),
    "Refuses nodes with taints the pod does not tolerate, and prefers nodes with fewer soft taints.",
    factory=TaintToleration,
    variant=_variant,
)
