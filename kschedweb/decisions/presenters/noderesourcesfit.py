"""NodeResourcesFit: resources that a node lacks, and how its use is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, args_of, instance
from kschedweb.decisions.words import Reading, Shortage, of
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.noderesourcesfit import LEAST, MOST, PODS, RATIO, NodeResourcesFit, requested_after
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Fit(Presenter):
    missing = _("It does not look at use.")
    short = {PODS: _("has no room for another pod")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        name = snapshot.names[node]
        texts, remedies = [], []
        if PODS in status.about:
            texts.append(
                gettext("%(name)s runs %(pod_count)s of at most %(pod_limit)s pods")
                % {"name": name, "pod_count": snapshot.pod_count[node], "pod_limit": snapshot.pod_limit[node]}
            )
            remedies.append(gettext("remove a pod from it"))
        for short in shortages(snapshot, pod, node):
            if short.resource not in status.about:
                continue
            what, free = of(short.resource), amount(max(short.free, 0), short.resource)
            over = "" if short.free >= 0 else gettext(" (overcommitted)")
            texts.append(
                gettext(
                    "the pod needs %(asked)s%(what)s, and %(name)s has %(free)s%(what)s free of "
                    "%(allocatable)s%(over)s: %(short)s short"
                )
                % {
                    "asked": amount(short.asked, short.resource),
                    "what": what,
                    "name": name,
                    "free": free,
                    "allocatable": amount(short.allocatable, short.resource),
                    "over": over,
                    "short": short,
                }
            )
            if short.asked > short.allocatable:
                remedies.append(
                    gettext("even empty, this node is too small: request less %(resource)s or add larger nodes")
                    % {"resource": short.resource}
                )
            else:
                remedies.append(gettext("free %(short)s there, or request that much less") % {"short": short})
        return Reading(gettext("; ").join(texts) or status.message, gettext("; ").join(dict.fromkeys(remedies)))

    def in_short(self, pod: Pod, reason: str, about: Any) -> str:
        if about is None or about in self.short:
            return super().in_short(pod, reason, about)
        return gettext("has less than %(amount)s%(of)s free") % {
            "amount": amount(pod.requests.get(about, 0), about),
            "of": of(about),
        }

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: NodeResourcesFit = instance(case, self.plugin)
        result.about = gettext(
            "Strategy %(strategy)s: the weighted mean over the resources below, with the pod on the node."
        ) % {"strategy": plugin.strategy}
        cycle, rows = Cycle(case.snapshot, case.pod), np.array([node])
        parts: list[tuple[int, int]] = []
        for name, weight in plugin.resources:
            after, allocatable = requested_after(cycle, rows, name)
            if not allocatable[0]:
                result.steps.append(
                    Step(name, gettext("the node has none, or the pod requests none"), gettext("not counted"))
                )
                continue
            score = int(plugin.part(after, allocatable)[0])
            asked = case.pod.scoring_requests.get(name, 0)
            used, size = int(after[0]) - asked, int(allocatable[0])
            formula = _formula(case, plugin.strategy, used + asked, size)
            shown = gettext("requested %(used)s + %(asked)s of %(size)s: %(formula)s") % {
                "used": amount(used, name),
                "asked": amount(asked, name),
                "size": amount(size, name),
                "formula": formula,
            }
            result.steps.append(
                Step(gettext("%(name)s, weight %(weight)s") % {"name": name, "weight": weight}, shown, str(score))
            )
            if plugin.strategy != RATIO or score > 0:
                parts.append((score, weight))
        result.computed = int(plugin.score(cycle, rows)[0])
        if weights := sum(weight for _, weight in parts):
            listed = " + ".join(f"{score} × {weight}" for score, weight in parts)
            rounding = gettext("rounded") if plugin.strategy == RATIO else gettext("rounded down")
            result.steps.append(Step(gettext("Mean"), f"({listed}) ÷ {weights}, {rounding}", str(result.computed)))


def _formula(case: Case, strategy: str, after: int, size: int) -> str:
    if strategy == LEAST:
        return gettext("more than the node has") if after > size else f"({size} − {after}) × 100 ÷ {size}"
    if strategy == MOST:
        return f"{min(after, size)} × 100 ÷ {size}"
    ratio = args_of(case, "NodeResourcesFit")["scoringStrategy"].get("requestedToCapacityRatio") or {}
    points = ", ".join(f"{point['utilization']} % → {point['score']}" for point in ratio.get("shape") or [])
    return gettext("%(value)s %% on the line %(points)s (scores × 10)") % {
        "value": min(after, size) * 100 // size,
        "points": points,
    }


def shortages(snapshot: EngineSnapshot, pod: Pod, node: int) -> list[Shortage]:
    """The resources of which the node at a position has too little for ``pod``, worst first."""
    found = []
    for resource, asked in pod.requests.items():
        column = snapshot.resources.get(resource)
        allocatable = int(snapshot.allocatable[column, node]) if column is not None else 0
        used = int(snapshot.requested[column, node]) if column is not None else 0
        if asked > 0 and asked > allocatable - used:
            found.append(Shortage(resource, asked, allocatable - used, allocatable))
    return sorted(found, key=lambda item: -item.missing / item.asked)


PRESENTER = Fit("NodeResourcesFit")
