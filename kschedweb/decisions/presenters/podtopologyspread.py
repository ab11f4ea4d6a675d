"""PodTopologySpread and HkePodTopologySpread: how evenly matching pods are spread."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, instance
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.podtopologyspread import LABEL, SKEW, PodTopologySpread, Soft, score_key

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.plugins.podtopologyspread import Constraint


class Spread(Presenter):
    about = "Matching pods in the node's places, each place weighed by how many there are; fewer are better."
    short = {
        LABEL: "lacks the label to spread over",
        SKEW: "would break the pod's topology spread",
    }

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        labels, name = snapshot.nodes[node].labels, snapshot.names[node]
        hard = [rule.topology_key for rule in pod.spread_constraints if rule.hard]
        if absent := [key for key in hard if key not in labels]:
            return Reading(
                f"spreads over {listed(absent)}, a label {name} does not have", "labelling the node would do"
            )
        for constraint in _hard_constraints(snapshot, pod):
            rule, value = constraint.rule, int(constraint.column.codes[node])
            skew = int(PodTopologySpread.skew(pod, constraint)[value])
            if skew > rule.max_skew:
                after = int(constraint.counts[value]) + constraint.selector.matches(pod.labels)
                return Reading(
                    f"{rule.topology_key}={labels[rule.topology_key]} would have {after} matching pods and the "
                    f"emptiest place has {after - skew}: a skew of {skew} over maxSkew {rule.max_skew}",
                    "a higher maxSkew, ScheduleAnyway, or room in the emptier places would do",
                )
        return Reading(f"{name} would make the pods too uneven over {listed(hard)}")

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: PodTopologySpread = instance(case, self.plugin)
        cycle = Cycle(case.snapshot, case.pod)
        plugin.pre_score(cycle, case.explanation.feasible)
        soft: Soft = cycle.state[score_key(self.plugin)]
        result.computed = int(plugin.score(cycle, np.array([node]))[0])
        if soft.ignored[node]:
            result.about = "The node lacks a label of a constraint, so it is not scored."
            return
        labels = case.snapshot.nodes[node].labels
        for constraint in soft.constraints:
            rule, value = constraint.rule, labels.get(constraint.rule.topology_key)
            if value is None:
                result.steps.append(Step(rule.topology_key, "the node has no such label", "not counted"))
                continue
            at = node if constraint.by_host else int(constraint.column.codes[node])
            formula = f"{constraint.counts[at]} matching pods × {constraint.weight:.4f} + maxSkew {rule.max_skew} − 1"
            result.steps.append(Step(f"{rule.topology_key}={value}", formula, f"{constraint.added[at]:.4f}"))
        result.steps.append(Step("Sum", "rounded", str(result.computed)))

    def normalization(self, raws: list[int], raw: int) -> str:
        high = max(raws)
        if high <= 0:
            return "no matching pods: 100"
        return f"100 × ({high} + lowest − {raw}) ÷ {high}; fewer matching pods are better"


@lru_cache(maxsize=4)
def _hard_constraints(snapshot: EngineSnapshot, pod: Pod) -> list[Constraint]:
    """The pod's hard constraints with the counts of the plugin; they are the same for every node."""
    cycle, plugin = Cycle(snapshot, pod), PodTopologySpread({})
    plugin.pre_filter(cycle)
    constraints: list[Constraint] = cycle.state.get(plugin.name, [])
    return constraints


def forget() -> None:
    """Clear the cache of constraints; call it before a snapshot changes."""
    _hard_constraints.cache_clear()


SPREAD, HKE = Spread("PodTopologySpread"), Spread("HkePodTopologySpread")
