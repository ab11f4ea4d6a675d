"""InterPodAffinity: affinity and anti-affinity of the pod, and of placed pods towards it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, instance
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.interpodaffinity import APART, NEAR, OTHERS, SCORE
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.affinity import PodTerm
    from kschedweb.engine.objects.labels import Selector
    from kschedweb.engine.state.topology import TopologySums


class PodAffinity(Presenter):
    about = _("Adds the weights of affinity and subtracts those of anti-affinity, of this pod and of the pods there.")
    short = {
        NEAR: _("has no pod near that this one must run beside"),
        APART: _("is near a pod that this one must not run beside"),
        OTHERS: _("is near a pod that refuses this one"),
    }

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        if not status.about:
            return super().reading(snapshot, pod, node, status)
        name, labels, affinity = snapshot.names[node], snapshot.nodes[node].labels, pod.pod_affinity
        if NEAR in status.about:
            wanted = [_place(term, labels) for term in affinity.required]
            return Reading(
                gettext("the pod must run beside %(listed)s, and none is there") % {"listed": listed(wanted)},
                gettext("start such a pod there"),
            )
        if APART in status.about:
            avoided = [_place(term, labels) for term in affinity.anti_required]
            return Reading(
                gettext("the pod must not run beside %(listed)s, and one is there") % {"listed": listed(avoided)},
                gettext("move that pod away"),
            )
        return Reading(
            gettext("a pod in the same place as %(name)s must not run beside this one, by its own anti-affinity")
            % {"name": name},
            gettext("move that pod away"),
        )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        cycle = Cycle(case.snapshot, case.pod)
        instance(case, self.plugin).pre_score(cycle, case.explanation.feasible)
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
                Step(place, gettext("all terms that hold in this place, with their weights"), f"{part:+d}")
            )
        result.steps.append(Step(gettext("Sum"), gettext("over the labels of the node"), str(result.computed)))

    def normalization(self, raws: list[int], raw: int) -> str:
        low, high = min(raws), max(raws)
        return f"100 × ({raw} − {low}) ÷ ({high} − {low})" if high > low else gettext("all nodes equal: 0 for all")


def _place(term: PodTerm, labels: dict[str, str]) -> str:
    key = term.topology_key
    where = (
        f"{key}={labels[key]}" if key in labels else gettext("%(key)s (a label this node does not have)") % {"key": key}
    )
    return gettext("pods with %(selector)s in %(where)s") % {"selector": _selector(term.selector), "where": where}


def _selector(selector: Selector) -> str:
    if selector.nothing:
        return gettext("no labels at all")
    texts = [
        f"{item.key}={item.values[0]}"
        if item.operator == "In" and len(item.values) == 1
        else f"{item.key} {item.operator} {', '.join(item.values)}".strip()
        for item in selector.requirements
    ]
    return listed(texts) if texts else gettext("any labels")


PRESENTER = PodAffinity("InterPodAffinity")
