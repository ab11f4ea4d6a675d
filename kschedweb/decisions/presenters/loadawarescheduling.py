"""LoadAwareScheduling, of Koordinator: what is left of each resource with the pod and the pods not yet measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, instance
from kschedweb.decisions.presenters.measured import NOTHING, RESOURCES, figure
from kschedweb.decisions.words import Reading
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadawarescheduling import (
    TOO_OLD,
    WINDOWS,
    LoadAwareScheduling,
    left_over,
    weighted,
)
from kschedweb.engine.state.watermarks.koordinator import PROD, priority_class
from kschedweb.web.durations import format_rough_duration
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.state.columns import Ints


class LoadAware(Presenter):
    about = (
        "The weighted mean of what is left of each resource, in whole percents, after what the node uses, what newer "
        "pods are expected to use that its figures do not show yet, and what the pod is expected to use."
    )
    missing = _(
        "A node without figures passes and scores 0. If they are older than nodeMetricExpirationSeconds it is "
        "rejected, unless enableScheduleWhenNodeMetricsExpired is set."
    )
    short = {TOO_OLD: "has usage data that is too old"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        if not status.about:
            return super().reading(snapshot, pod, node, status)
        name, (about,) = snapshot.names[node], status.about
        if about == TOO_OLD:
            watermarks = snapshot.watermarks
            age = math.nan if watermarks is None else snapshot.now - float(watermarks.updated[node])
            old = "of no known time" if math.isnan(age) else f"{age:.0f} s old"
            return Reading(
                f"the usage data of {name} is {old}, which is too old to use",
                "collect newer figures, or set enableScheduleWhenNodeMetricsExpired",
            )
        resource, aggregated = about
        measure = "percentile" if aggregated else "use"
        return Reading(
            f"with its {measure}, newer pods and this one, {name} would be above the threshold for {resource}",
            f"reduce the load there, or raise usageThresholds.{resource}",
        )

    def in_short(self, pod: Pod, reason: str, about: Any) -> str:
        resource, aggregated = about if isinstance(about, tuple) else ("", False)
        if resource not in RESOURCES:
            return super().in_short(pod, reason, about)
        name = RESOURCES[resource]
        if aggregated:
            return f"has a percentile of {name} above Koordinator's threshold"
        return f"would really use more {name} than Koordinator's threshold allows"

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: LoadAwareScheduling = instance(case, self.plugin)
        result.computed = 0
        if case.snapshot.watermarks is None:
            result.notes.append(f"{NOTHING} Every node scores 0.")
            return
        for resource in (CPU, MEMORY):
            first, second = (
                figure(case, node, resource, window, stale_after=plugin.expiration - 1e-9) for window in WINDOWS
            )
            result.figures.append(second if first.value == "no figure" else first)
        if (why := _unknown(case, plugin, node)) is not None:
            result.notes.append(why)
            return
        left = _left(result, case, plugin, node)
        _mean(result, plugin, left)


def _unknown(case: Case, plugin: LoadAwareScheduling, node: int) -> str | None:
    """Why the node's figures do not count; ``None`` if they do."""
    assert case.snapshot.watermarks is not None
    if not plugin.reported(case.snapshot)[node]:
        return gettext("Nothing is known of this node (to Koordinator, it has no NodeMetric), so it scores 0.")
    if not plugin.measured(case.snapshot)[node]:
        return gettext("The node does not tell what it uses, so it scores 0.")
    if plugin.expired(case.snapshot)[node]:
        age = case.snapshot.now - float(case.snapshot.watermarks.updated[node])
        limit = format_rough_duration(plugin.expiration)
        if math.isnan(age):
            return gettext("The figures are of no known age; they count for less than %(limit)s, so it scores 0.") % {
                "limit": limit
            }
        told = {"age": format_rough_duration(age), "limit": limit}
        return gettext("The figures are %(age)s old; they count for less than %(limit)s, so it scores 0.") % told
    return None


def _left(result: Arithmetic, case: Case, plugin: LoadAwareScheduling, node: int) -> Ints:
    """The free percentage of each resource with the pod. Shape [resources, 1]."""
    prod = plugin.score_prod and priority_class(case.pod) == PROD
    aggregate = None if prod else plugin.scored_aggregate
    before = plugin.used(case.snapshot, prod, aggregate)[:, [node]]
    own, size = plugin.expected(case.pod)[:, None], plugin.allocatable(case.snapshot)[:, [node]]
    left = left_over(before + own, size)
    of = "pods of class koord-prod" if prod else f"the node ({aggregate.kind})" if aggregate else "the node"
    for row, resource in enumerate(plugin.resources):
        name, has, used = RESOURCES.get(resource, resource), int(size[row, 0]), int(before[row, 0] + own[row, 0])
        parts = f"{amount(int(before[row, 0]), resource)} + pod {amount(int(own[row, 0]), resource)}"
        step = Step(f"{name}: use with the pod", f"{of} with newer pods {parts}", amount(used, resource))
        formula = "the node has none of it" if has <= 0 else "more than there is"
        if 0 < has >= used:
            there = amount(has, resource)
            formula = f"({there} − {amount(used, resource)}) × 100 ÷ {there}, rounded down"
        weight = plugin.weights[row]
        result.steps += [step, Step(f"{name}: left, weight {weight}", formula, f"{left[row, 0]} %")]
    return left


def _mean(result: Arithmetic, plugin: LoadAwareScheduling, left: Ints) -> None:
    listed = [f"{each} × {weight}" for each, weight in zip(left[:, 0].tolist(), plugin.weights, strict=True) if weight]
    if plugin.dominant_weight:
        listed.append(f"the least, {left.min()} × {plugin.dominant_weight}")
    weights = max(sum(plugin.weights) + plugin.dominant_weight, 1)
    result.computed = int(weighted(left, plugin.weights, plugin.dominant_weight)[0])
    formula = f"({' + '.join(listed) or '0'}) ÷ {weights}, rounded down"
    result.steps.append(Step("Weighted mean", formula, str(result.computed)))


PRESENTER = LoadAware("LoadAwareScheduling")
