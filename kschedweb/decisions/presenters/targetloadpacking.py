"""TargetLoadPacking: the CPU that a node would use with the pod, in percent of its capacity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import PolicyVariant, Presenter, get_plugin
from kschedweb.decisions.presenters.figures import AS_NEW, UNKNOWN_CPU, amount, away_from_zero, cpu_use, number
from kschedweb.engine.objects.quantity import round_to_unit
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.plugins.targetloadpacking import FIXED_50, TARGET, TargetLoadPacking, packing_scores
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class LoadPackingPresenter(Presenter):
    missing = _("A node without figures scores 0. Old figures count as much as new ones.")

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: TargetLoadPacking = get_plugin(case, self.plugin)
        result.about = (
            "Up to the target the score rises from the target to 100, above it it falls"
            f" from {'the target' if plugin.penalty == TARGET else '50 (the form of the first releases)'} to 0."
            f" {AS_NEW}"
        )
        use, size = cpu_use(result, case, node)
        if math.isnan(use):
            result.notes.append(f"{UNKNOWN_CPU}, so it scores 0.")
            result.computed = 0
            return
        predicted, newer = plugin.predict_pod_use(case.pod), float(plugin.missing_use(case.snapshot)[node])
        rule = f"limits, else requests × {number(plugin.multiplier)}, else {amount(CPU, plugin.default)} a container"
        overhead = round_to_unit(CPU, case.pod.resources.overhead.get(CPU, 0))
        containers = (str(plugin.predicted_of(container)) for container in case.pod.resources.containers)
        parts = " + ".join([*containers, f"{overhead} overhead"])
        result.steps.append(ArithmeticStep("Pod is expected to use", f"{parts} ({rule})", f"{predicted}m"))
        result.steps.append(
            ArithmeticStep("Pods newer than the figures", "bound after the figures' time − 60 s", f"{number(newer)}m")
        )
        expected = float(plugin.expected(case.snapshot, case.pod)[node])
        formula = f"100 × ({number(use)} ÷ 100 × {size:.0f} + {predicted} + {number(newer)}) ÷ {size:.0f}"
        result.steps.append(ArithmeticStep("Use with the pod", formula, f"{number(expected)} %"))
        score = float(packing_scores(np.array([expected]), plugin.target, plugin.penalty)[0])
        result.computed = away_from_zero(score)
        formula = f"{_branch_formula(expected, plugin)} = {number(score)}, rounded half away from zero"
        result.steps.append(ArithmeticStep("Score", formula, str(result.computed)))

    def list_variants(self, help: str) -> list[PolicyVariant]:
        older = f"{help} As in its first releases: above the target the score starts from 50."
        return [
            PolicyVariant(self.plugin, self.plugin, help, {"penalty": TARGET}),
            PolicyVariant(f"{self.plugin}-50", f"{self.plugin}, constant 50", older, {"penalty": FIXED_50}),
        ]


def _branch_formula(expected: float, plugin: TargetLoadPacking) -> str:
    at, goal = number(expected), number(plugin.target)
    if expected <= plugin.target:
        return f"up to the target: (100 − {goal}) × {at} ÷ {goal} + {goal}"
    if expected <= 100:
        start = plugin.target if plugin.penalty == TARGET else 50.0
        return f"above the target: {number(start)} × (100 − {at}) ÷ (100 − {goal})"
    return f"{at} % is more than the node has"


PRESENTER = LoadPackingPresenter("TargetLoadPacking")
