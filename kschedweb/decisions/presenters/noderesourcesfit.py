"""NodeResourcesFit: resources that a node lacks, and how its use is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, args_of, get_plugin
from kschedweb.decisions.words import VerdictReading, resource_suffix
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.noderesourcesfit import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    PODS,
    RATIO,
    NodeResourcesFit,
)
from kschedweb.engine.studies.fixes.shortages import find_resource_shortages
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class ResourcesFitPresenter(Presenter):
    missing = _("It does not look at use.")
    short = {PODS: _("has no room for another pod")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        name = snapshot.names[node]
        texts, remedies = [], []
        if PODS in status.facts:
            texts.append(
                gettext("%(name)s runs %(pod_count)s of at most %(pod_limit)s pods")
                % {"name": name, "pod_count": snapshot.pod_count[node], "pod_limit": snapshot.pod_limit[node]}
            )
            remedies.append(gettext("remove a pod from it"))
        for short in find_resource_shortages(snapshot, pod, node):
            if short.resource not in status.facts:
                continue
            unit, free = resource_suffix(short.resource), format_amount(max(short.free, 0), short.resource)
            over = "" if short.free >= 0 else gettext(" (overcommitted)")
            texts.append(
                gettext(
                    "the pod needs %(asked)s%(what)s, and %(name)s has %(free)s%(what)s free of "
                    "%(allocatable)s%(over)s: %(short)s short"
                )
                % {
                    "asked": format_amount(short.requested, short.resource),
                    "what": unit,
                    "name": name,
                    "free": free,
                    "allocatable": format_amount(short.allocatable, short.resource),
                    "over": over,
                    "short": short,
                }
            )
            if short.requested > short.allocatable:
                remedies.append(
                    gettext("even empty, this node is too small: request less %(resource)s or add larger nodes")
                    % {"resource": short.resource}
                )
            else:
                remedies.append(gettext("free %(short)s there, or request that much less") % {"short": short})
        return VerdictReading(gettext("; ").join(texts) or status.message, gettext("; ").join(dict.fromkeys(remedies)))

    def in_short(self, pod: Pod, reason: str, fact: Any) -> str:
        if fact is None or fact in self.short:
            return super().in_short(pod, reason, fact)
        return gettext("has less than %(amount)s%(of)s free") % {
            "amount": format_amount(pod.requests.get(fact, 0), fact),
            "of": resource_suffix(fact),
        }

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: NodeResourcesFit = get_plugin(case, self.plugin)
        result.about = gettext(
            "Strategy %(strategy)s: the weighted mean over the resources below, with the pod on the node."
        ) % {"strategy": plugin.strategy}
        cycle, rows = Cycle(case.snapshot, case.pod), np.array([node])
        parts: list[tuple[int, int]] = []
        for name, weight in plugin.resources:
            after, allocatable = plugin.requested_after(cycle, rows, name)
            if not allocatable[0]:
                result.steps.append(
                    ArithmeticStep(name, gettext("the node has none, or the pod requests none"), gettext("not counted"))
                )
                continue
            score = int(plugin.score_resource(after, allocatable)[0])
            request = plugin.scoring_requests(case.pod).get(name, 0)
            used, size = int(after[0]) - request, int(allocatable[0])
            formula = _strategy_formula(case, plugin.strategy, used + request, size)
            text = gettext("requested %(used)s + %(asked)s of %(size)s: %(formula)s") % {
                "used": format_amount(used, name),
                "asked": format_amount(request, name),
                "size": format_amount(size, name),
                "formula": formula,
            }
            result.steps.append(
                ArithmeticStep(
                    gettext("%(name)s, weight %(weight)s") % {"name": name, "weight": weight}, text, str(score)
                )
            )
            # RequestedToCapacityRatio leaves resources with score 0 out of the mean, as the original does.
            if plugin.strategy != RATIO or score > 0:
                parts.append((score, weight))
        result.computed = int(plugin.score(cycle, rows)[0])
        if weights := sum(weight for _, weight in parts):
            listed = " + ".join(f"{score} × {weight}" for score, weight in parts)
            rounding = gettext("rounded") if plugin.strategy == RATIO else gettext("rounded down")
            result.steps.append(
                ArithmeticStep(gettext("Mean"), f"({listed}) ÷ {weights}, {rounding}", str(result.computed))
            )


def _strategy_formula(case: Case, strategy: str, after: int, size: int) -> str:
    if strategy == LEAST_ALLOCATED:
        return gettext("more than the node has") if after > size else f"({size} − {after}) × 100 ÷ {size}"
    if strategy == MOST_ALLOCATED:
        return f"{min(after, size)} × 100 ÷ {size}"
    ratio = args_of(case, "NodeResourcesFit")["scoringStrategy"].get("requestedToCapacityRatio") or {}
    points = ", ".join(f"{point['utilization']} % → {point['score']}" for point in ratio.get("shape") or [])
    return gettext("%(value)s %% on the line %(points)s (scores × 10)") % {
        "value": min(after, size) * 100 // size,
        "points": points,
    }


PRESENTER = ResourcesFitPresenter("NodeResourcesFit")
