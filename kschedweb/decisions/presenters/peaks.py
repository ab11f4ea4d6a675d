"""Peaks: the rise of a node's power draw with the pod."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Args, Presenter, get_plugin
from kschedweb.decisions.presenters.figures import AS_NEW, UNKNOWN_CPU, cpu_use, number
from kschedweb.engine.plugins.peaks import FEMTO, Peaks, cpu_request, power_rise, to_femtowatts
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case

# Watts. The draw flattens with usage, as in most machines.
POWER_MODEL = {"k0": 470.0, "k1": -90.0, "k2": -0.07}


class PeaksPresenter(Presenter):
    description = (
        "By how much the pod raises the node's power draw k0 + k1 × e^(k2 × use), in femtowatts; least is best. "
        f"Without figures the rise is 0, which the plugin treats as cheapest. {AS_NEW}"
    )
    missing = _(
        "A node without figures, or that the pod would overload, counts as the cheapest. Old figures count as much as "
        "new ones."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: Peaks = get_plugin(case, self.plugin)
        use, size = cpu_use(result, case, node)
        result.computed = 0
        if math.isnan(use):
            result.notes.append(f"{UNKNOWN_CPU}, so its rise counts as 0, and the plugin treats it as cheapest.")
            return
        request, expected = cpu_request(case.pod), float(plugin.cpu_use(case.snapshot, case.pod)[1][node])
        formula = f"100 × ({number(use)} ÷ 100 × {size:.0f} + request {request}) ÷ {size:.0f}"
        result.steps.append(ArithmeticStep("Use with the pod", formula, f"{number(expected)} %"))
        if expected > 100:
            note = "The pod would overload the node, so its rise counts as 0, and it is treated as cheapest."
            result.notes.append(note)
            return
        k1, k2 = (float(factor[node]) for factor in plugin.model_factors(case.snapshot))
        if case.snapshot.names[node] not in plugin.models:
            note = "nodePowerModel does not name this node, so its rise is 0, and it is treated as cheapest."
            result.notes.append(note)
        rise = power_rise(*(np.array([value]) for value in (use, expected, k1, k2)))
        formula = f"{number(k1)} × (e^({k2:g} × {number(expected)}) − e^({k2:g} × {number(use)}))"
        result.steps.append(ArithmeticStep("Rise of the power draw", formula, f"{float(rise[0]):.6g} W"))
        result.computed = int(to_femtowatts(rise)[0])
        result.steps.append(ArithmeticStep("In femtowatts", f"× {FEMTO:g}, cut toward 0", str(result.computed)))

    def normalization(self, raws: list[int], raw: int) -> str:
        low, high = min(raws), max(raws)
        if not any(raws):
            return "every raw score is 0: unchanged"
        if low == high:
            return "all nodes equal: 100 for all"
        return f"100 − 100 × ({raw} − {low}) ÷ ({high} − {low}), the quotient cut toward 0"

    def adapt_to_nodes(self, args: Args, nodes: Sequence[str]) -> Args:
        """Return the arguments with the first model, else ``POWER_MODEL``, for all nodes."""
        models = args.get("nodePowerModel") or args.get("NodePowerModel") or {}
        model = next(iter(models.values()), POWER_MODEL)
        changed = {key: value for key, value in args.items() if key != "NodePowerModel"}
        return {**changed, "nodePowerModel": dict.fromkeys(nodes, model)}


PRESENTER = PeaksPresenter("Peaks")
