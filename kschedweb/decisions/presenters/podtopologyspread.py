"""PodTopologySpread and HkePodTopologySpread: how evenly matching pods are spread."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.podtopologyspread import LABEL, SKEW, PodTopologySpread, PreScoreState, score_key
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.plugins.podtopologyspread import Constraint


class TopologySpreadPresenter(Presenter):
    description = _(
        "Counts matching pods in the node's places, weighted by how many places there are; fewer are better."
    )
    short = {
        LABEL: _("lacks the label to spread over"),
        SKEW: _("would break the pod's topology spread"),
    }

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        labels, name = snapshot.nodes[node].labels, snapshot.names[node]
        hard = [rule.topology_key for rule in pod.spread_constraints if rule.is_hard]
        if absent := [key for key in hard if key not in labels]:
            return VerdictReading(
                gettext("the pod spreads over %(listed)s, a label that %(name)s does not have")
                % {"listed": join_with_and(absent), "name": name},
                gettext("label the node"),
            )
        for constraint in _hard_constraints(snapshot, pod):
            rule, value = constraint.rule, int(constraint.column.codes[node])
            skew = int(PodTopologySpread.skew(pod, constraint)[value])
            if skew > rule.max_skew:
                after = int(constraint.counts[value]) + constraint.selector.matches(pod.labels)
                return VerdictReading(
                    gettext(
                        "%(topology_key)s=%(labels)s would have %(after)s matching pods and the emptiest place "
                        "has %(value)s: a skew of %(skew)s over maxSkew %(max_skew)s"
                    )
                    % {
                        "topology_key": rule.topology_key,
                        "labels": labels[rule.topology_key],
                        "after": after,
                        "value": after - skew,
                        "skew": skew,
                        "max_skew": rule.max_skew,
                    },
                    gettext("raise maxSkew, use ScheduleAnyway, or make room in the emptier places"),
                )
        return VerdictReading(
            gettext("on %(name)s the pods would be spread too unevenly over %(listed)s")
            % {"name": name, "listed": join_with_and(hard)}
        )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: PodTopologySpread = get_plugin(case, self.plugin)
        cycle = Cycle(case.snapshot, case.pod)
        plugin.pre_score(cycle, case.explanation.feasible)
        soft: PreScoreState = cycle.state[score_key(self.plugin)]
        result.computed = int(plugin.score(cycle, np.array([node]))[0])
        if soft.ignored[node]:
            result.about = gettext("The node lacks a label of a constraint, so it is not scored.")
            return
        labels = case.snapshot.nodes[node].labels
        for constraint in soft.constraints:
            rule, value = constraint.rule, labels.get(constraint.rule.topology_key)
            if value is None:
                result.steps.append(
                    ArithmeticStep(rule.topology_key, gettext("the node has no such label"), gettext("not counted"))
                )
                continue
            at = node if constraint.by_host else int(constraint.column.codes[node])
            formula = gettext("%(counts)s matching pods × %(weight)s + maxSkew %(max_skew)s − 1") % {
                "counts": constraint.counts[at],
                "weight": f"{constraint.weight:.4f}",
                "max_skew": rule.max_skew,
            }
            result.steps.append(
                ArithmeticStep(f"{rule.topology_key}={value}", formula, f"{constraint.value_scores[at]:.4f}")
            )
        result.steps.append(ArithmeticStep(gettext("Sum"), gettext("rounded"), str(result.computed)))

    def normalization(self, raws: list[int], raw: int) -> str:
        high = max(raws)
        if high <= 0:
            return gettext("no matching pods: 100 for all")
        return gettext("100 × (%(high)s + lowest − %(raw)s) ÷ %(high)s; fewer matching pods are better") % {
            "high": high,
            "raw": raw,
        }


# A page reads the verdicts of many nodes in a row, all for one pod.
@lru_cache(maxsize=4)
def _hard_constraints(snapshot: EngineSnapshot, pod: Pod) -> list[Constraint]:
    """Return the pod's hard constraints with the plugin's counts, which are the same for every node."""
    cycle, plugin = Cycle(snapshot, pod), PodTopologySpread({})
    plugin.pre_filter(cycle)
    constraints: list[Constraint] = cycle.state.get(plugin.name, [])
    return constraints


def clear_cache() -> None:
    """Clear the cache of constraints. Call it before a snapshot changes."""
    _hard_constraints.cache_clear()


SPREAD, HKE = TopologySpreadPresenter("PodTopologySpread"), TopologySpreadPresenter("HkePodTopologySpread")
