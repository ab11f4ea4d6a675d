"""VolcanoUsage: free CPU and memory, with pods counted that the figures do not show yet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import (
    NOTHING,
    RESOURCES,
    amount,
    away_from_zero,
    number,
    read_figure,
)
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.volcanousage import ACTIVE, WINDOWS, VolcanoUsage
from kschedweb.engine.state.watermarks.capacity import node_capacity
from kschedweb.web.durations import format_rough_duration
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class VolcanoUsagePresenter(Presenter):
    description = (
        "The weighted mean of free CPU and memory. Pods that started too recently to be in the figures are added by "
        "what they are expected to use; the pod itself does not count."
    )
    missing = _("A node without figures, or with ones older than 5 minutes, passes and scores 0.")
    short = {
        CPU: "really uses more CPU than Volcano's threshold allows",
        MEMORY: "really uses more memory than Volcano's threshold allows",
    }

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        if not status.facts:
            return super().reading(snapshot, pod, node, status)
        (resource,) = status.facts
        used = float(VolcanoUsage.used(snapshot)[(CPU, MEMORY).index(resource)][node])
        return VerdictReading(
            f"{snapshot.names[node]} really uses {used:.1f} % of its {RESOURCES[resource]}, which is above the "
            "threshold",
            f"reduce the load there, or raise thresholds.{'cpu' if resource == CPU else 'mem'}",
        )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: VolcanoUsage = get_plugin(case, self.plugin)
        if case.snapshot.watermarks is None:
            result.notes.append(f"{NOTHING} Every node scores 0.")
            result.computed = 0
            return
        for resource in (CPU, MEMORY):
            _add_figures(result, case, resource, node)
        if not plugin.has_figures(case.snapshot)[node]:
            age = case.snapshot.now - float(case.snapshot.watermarks.updated[node])
            result.notes.append(
                gettext("Nothing is known of this node, so it scores 0.")
                if math.isnan(age)
                else gettext("The figures are older than %(limit)s, so it scores 0.")
                % {"limit": format_rough_duration(ACTIVE)}
            )
            result.computed = 0
            return
        cpu, memory = (load[[node]] for load in plugin.loads(case.snapshot))
        _explain_shares(result, case, plugin, node, float(cpu[0]), float(memory[0]))
        model, score = plugin.model, float(plugin.model.score(cpu, memory)[0])
        result.computed = away_from_zero(score)
        weights, formula = model.cpu_weight + model.memory_weight, "no weights"
        if weights:
            formula = f"((1 − {number(float(cpu[0]))}) × {model.cpu_weight} + (1 − {number(float(memory[0]))}) × "
            formula += f"{model.memory_weight}) ÷ {weights} × 100 = {number(score)}, rounded half away from zero"
        result.steps.append(ArithmeticStep("Score", formula, str(result.computed)))


def _add_figures(result: Arithmetic, case: Case, resource: str, node: int) -> None:
    """Add the figure that counts: Volcano's own window, else its substitute."""
    first, second = (read_figure(case, node, resource, window, stale_after=ACTIVE) for window in WINDOWS)
    result.figures.append(second if first.value == "no figure" else first)
    if first.value == second.value == "no figure":
        result.notes.append(f"The {RESOURCES[resource]} use of this node is not known: it counts as 0.")


def _explain_shares(result: Arithmetic, case: Case, plugin: VolcanoUsage, node: int, *shares: float) -> None:
    used, shadow = plugin.used(case.snapshot), plugin.shadow(case.snapshot)
    for place, resource in enumerate((CPU, MEMORY)):
        name, size = RESOURCES[resource], float(node_capacity(case.snapshot, resource)[node])
        if size <= 0:
            result.steps.append(ArithmeticStep(name, "the node has none of it", "0"))
            continue
        total, newer = amount(resource, size), amount(resource, float(shadow[place, node]))
        formula = f"({number(float(used[place][node]))} % of {total} + newer pods {newer}) ÷ {total}, at most 1"
        result.steps.append(ArithmeticStep(f"{name} in use", formula, number(shares[place])))


PRESENTER = VolcanoUsagePresenter("VolcanoUsage")
