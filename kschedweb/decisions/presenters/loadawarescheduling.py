"""LoadAwareScheduling, of Koordinator: the free share of each resource with the pod and pods not yet measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import NOTHING, RESOURCES, read_figure
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadawarescheduling import (
    TOO_OLD,
    WINDOWS,
    LoadAwareScheduling,
    left_over,
    weighted_mean,
)
from kschedweb.engine.state.watermarks.koordinator import PROD, priority_class
from kschedweb.web.durations import format_rough_duration
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.state.columns import Ints


class LoadAwarePresenter(Presenter):
    description = (
        "The weighted mean of what is left of each resource, in whole percents, after what the node uses, what newer "
        "pods are expected to use that its figures do not show yet, and what the pod is expected to use."
    )
    missing = _(
        "A node without figures passes and scores 0. If they are older than nodeMetricExpirationSeconds it is "
        "rejected, unless enableScheduleWhenNodeMetricsExpired is set."
    )
    short = {TOO_OLD: "has usage data that is too old"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        if not status.facts:
            return super().reading(snapshot, pod, node, status)
        name, (fact,) = snapshot.names[node], status.facts
        if fact == TOO_OLD:
            watermarks = snapshot.watermarks
            age = math.nan if watermarks is None else snapshot.now - float(watermarks.updated[node])
            old = "of no known time" if math.isnan(age) else f"{age:.0f} s old"
            return VerdictReading(
                f"the usage data of {name} is {old}, which is too old to use",
                "collect newer figures, or set enableScheduleWhenNodeMetricsExpired",
            )
        resource, aggregated = fact
        measure = "percentile" if aggregated else "use"
        return VerdictReading(
            f"with its {measure}, newer pods and this one, {name} would be above the threshold for {resource}",
            f"reduce the load there, or raise usageThresholds.{resource}",
        )

    def in_short(self, pod: Pod, reason: str, fact: Any) -> str:
        resource, aggregated = fact if isinstance(fact, tuple) else ("", False)
        if resource not in RESOURCES:
            return super().in_short(pod, reason, fact)
        name = RESOURCES[resource]
        if aggregated:
            return f"has a percentile of {name} above Koordinator's threshold"
        return f"would really use more {name} than Koordinator's threshold allows"

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: LoadAwareScheduling = get_plugin(case, self.plugin)
        result.computed = 0
        if case.snapshot.watermarks is None:
            result.notes.append(f"{NOTHING} Every node scores 0.")
            return
        for resource in (CPU, MEMORY):
            # A figure that is exactly as old as the limit counts as expired already.
            first, second = (
                read_figure(case, node, resource, window, stale_after=plugin.expiration - 1e-9) for window in WINDOWS
            )
            result.figures.append(second if first.value == "no figure" else first)
        if (why := _explain_unknown(case, plugin, node)) is not None:
            result.notes.append(why)
            return
        free_percents = _explain_free(result, case, plugin, node)
        _explain_mean(result, plugin, free_percents)


def _explain_unknown(case: Case, plugin: LoadAwareScheduling, node: int) -> str | None:
    """Return why the node's figures do not count, None if they do."""
    assert case.snapshot.watermarks is not None
    if not plugin.has_figures(case.snapshot)[node]:
        return gettext("Nothing is known of this node (to Koordinator, it has no NodeMetric), so it scores 0.")
    if not plugin.measured(case.snapshot)[node]:
        return gettext("The node does not tell what it uses, so it scores 0.")
    if plugin.is_expired(case.snapshot)[node]:
        age = case.snapshot.now - float(case.snapshot.watermarks.updated[node])
        limit = format_rough_duration(plugin.expiration)
        if math.isnan(age):
            return gettext("The figures are of no known age; they count for less than %(limit)s, so it scores 0.") % {
                "limit": limit
            }
        parameters = {"age": format_rough_duration(age), "limit": limit}
        return gettext("The figures are %(age)s old; they count for less than %(limit)s, so it scores 0.") % parameters
    return None


def _explain_free(result: Arithmetic, case: Case, plugin: LoadAwareScheduling, node: int) -> Ints:
    """Return the free percentage of each resource with the pod. Shape [resources, 1]."""
    prod = plugin.score_prod and priority_class(case.pod) == PROD
    aggregate = None if prod else plugin.scored_aggregate
    before = plugin.used(case.snapshot, prod, aggregate)[:, [node]]
    pod_use, size = plugin.expected(case.pod)[:, None], plugin.allocatable(case.snapshot)[:, [node]]
    free_percents = left_over(before + pod_use, size)
    subject = "pods of class koord-prod" if prod else f"the node ({aggregate.kind})" if aggregate else "the node"
    for row, resource in enumerate(plugin.resources):
        name, has, used = RESOURCES.get(resource, resource), int(size[row, 0]), int(before[row, 0] + pod_use[row, 0])
        parts = f"{format_amount(int(before[row, 0]), resource)} + pod {format_amount(int(pod_use[row, 0]), resource)}"
        step = ArithmeticStep(
            f"{name}: use with the pod", f"{subject} with newer pods {parts}", format_amount(used, resource)
        )
        formula = "the node has none of it" if has <= 0 else "more than there is"
        if 0 < has >= used:
            total = format_amount(has, resource)
            formula = f"({total} − {format_amount(used, resource)}) × 100 ÷ {total}, rounded down"
        weight = plugin.weights[row]
        result.steps += [step, ArithmeticStep(f"{name}: left, weight {weight}", formula, f"{free_percents[row, 0]} %")]
    return free_percents


def _explain_mean(result: Arithmetic, plugin: LoadAwareScheduling, free_percents: Ints) -> None:
    listed = [
        f"{percent} × {weight}"
        for percent, weight in zip(free_percents[:, 0].tolist(), plugin.weights, strict=True)
        if weight
    ]
    if plugin.dominant_weight:
        listed.append(f"the least, {free_percents.min()} × {plugin.dominant_weight}")
    weights = max(sum(plugin.weights) + plugin.dominant_weight, 1)
    result.computed = int(weighted_mean(free_percents, plugin.weights, plugin.dominant_weight)[0])
    formula = f"({' + '.join(listed) or '0'}) ÷ {weights}, rounded down"
    result.steps.append(ArithmeticStep("Weighted mean", formula, str(result.computed)))


PRESENTER = LoadAwarePresenter("LoadAwareScheduling")
