"""InterPodAffinity: affinity and anti-affinity of the pod, and of placed pods towards it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.interpodaffinity import ANTI_AFFINITY_FACT, EXISTING_FACT, NEAR, SCORE
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.affinity import PodTerm
    from kschedweb.engine.objects.labels import Selector
    from kschedweb.engine.state.topology import TopologySums


class InterPodAffinityPresenter(Presenter):
    description = _(
        "Adds the weights of affinity and subtracts those of anti-affinity, of this pod and of the pods there."
    )
    short = {
        NEAR: _("has no pod near that this one must run beside"),
        ANTI_AFFINITY_FACT: _("is near a pod that this one must not run beside"),
        EXISTING_FACT: _("is near a pod that refuses this one"),
    }

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        if not status.facts:
            return super().reading(snapshot, pod, node, status)
        name, labels, affinity = snapshot.names[node], snapshot.nodes[node].labels, pod.pod_affinity
        if NEAR in status.facts:
            required = [_describe_term(term, labels) for term in affinity.required]
            return VerdictReading(
                gettext("the pod must run beside %(listed)s, and none is there") % {"listed": join_with_and(required)},
                gettext("start such a pod there"),
            )
        if ANTI_AFFINITY_FACT in status.facts:
            avoided = [_describe_term(term, labels) for term in affinity.anti_required]
            return VerdictReading(
                gettext("the pod must not run beside %(listed)s, and one is there")
                % {"listed": join_with_and(avoided)},
                gettext("move that pod away"),
            )
        return VerdictReading(
            gettext("a pod in the same place as %(name)s must not run beside this one, by its own anti-affinity")
            % {"name": name},
            gettext("move that pod away"),
        )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        cycle = Cycle(case.snapshot, case.pod)
        get_plugin(case, self.plugin).pre_score(cycle, case.explanation.feasible)
        sums: TopologySums = cycle.state[SCORE]
        affinities = [case.pod.pod_affinity, *(terms.affinity for terms in case.snapshot.pods.term_sets)]
        terms = [term for item in affinities for term in (*item.required, *item.preferred, *item.anti_preferred)]
        labels = case.snapshot.nodes[node].labels
        result.computed = 0
        for key in dict.fromkeys(term.topology_key for term in terms):
            part = int(sums.at_nodes(key)[node])
            result.computed += part
            place = (
                f"{key}={labels[key]}"
                if key in labels
                else gettext("%(key)s: the node has no such label") % {"key": key}
            )
            result.steps.append(
                ArithmeticStep(place, gettext("all terms that hold in this place, with their weights"), f"{part:+d}")
            )
        result.steps.append(
            ArithmeticStep(gettext("Sum"), gettext("over the labels of the node"), str(result.computed))
        )

    def normalization(self, raws: list[int], raw: int) -> str:
        low, high = min(raws), max(raws)
        return f"100 × ({raw} − {low}) ÷ ({high} − {low})" if high > low else gettext("all nodes equal: 0 for all")


def _describe_term(term: PodTerm, labels: dict[str, str]) -> str:
    key = term.topology_key
    place = (
        f"{key}={labels[key]}" if key in labels else gettext("%(key)s (a label this node does not have)") % {"key": key}
    )
    return gettext("pods with %(selector)s in %(where)s") % {
        "selector": _describe_selector(term.selector),
        "where": place,
    }


def _describe_selector(selector: Selector) -> str:
    if selector.nothing:
        return gettext("no labels at all")
    texts = [
        f"{item.key}={item.values[0]}"
        if item.operator == "In" and len(item.values) == 1
        else f"{item.key} {item.operator} {', '.join(item.values)}".strip()
        for item in selector.requirements
    ]
    return join_with_and(texts) if texts else gettext("any labels")


PRESENTER = InterPodAffinityPresenter("InterPodAffinity")
