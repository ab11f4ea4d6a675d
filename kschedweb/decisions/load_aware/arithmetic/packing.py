"""TargetLoadPacking and Peaks: the CPU that a node would use with the pod, in percent of its capacity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.load_aware.arithmetic.common import amount, away_from_zero, figure, instance, number, started
from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.engine.objects.quantity import whole
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.plugins.peaks import FEMTO, Peaks, cpu_request, femtowatts, power_rise
from kschedweb.engine.plugins.targetloadpacking import TARGET, TargetLoadPacking
from kschedweb.engine.state.watermarks.capacity import capacity, of_capacity
from kschedweb.engine.state.watermarks.trimaran import MEAN

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case

UNKNOWN = "The CPU use of this node is not known"


def target_load_packing(case: Case, node: int) -> Arithmetic:
    plugin: TargetLoadPacking = instance(case, "TargetLoadPacking")
    result = started(
        "Up to the target the score rises from the target to 100, above it it falls"
        f" from {'the target' if plugin.penalty == TARGET else '50 (the form of the first releases)'} to 0."
        " Old figures count like new ones."
    )
    use, size = _use(result, case, node)
    if math.isnan(use):
        result.notes.append(f"{UNKNOWN}, so it scores 0.")
        result.computed = 0
        return result
    predicted, missing = plugin.predicted(case.pod), float(plugin.missing(case.snapshot)[node])
    said = "limits, else requests × " + number(plugin.multiplier) + f", else {amount(CPU, plugin.default)} a container"
    overhead = whole(CPU, case.pod.resources.overhead.get(CPU, 0))
    parts = " + ".join(
        [*(str(plugin.predicted_of(each)) for each in case.pod.resources.containers), f"{overhead} overhead"]
    )
    result.steps.append(Step("Pod is expected to use", f"{parts} ({said})", f"{predicted}m"))
    result.steps.append(
        Step("Pods newer than the figures", "bound after the figures' time − 60 s", f"{number(missing)}m")
    )
    expected = 100 * (use / 100 * size + float(predicted) + missing) / size if size else 0.0
    formula = f"100 × ({number(use)} ÷ 100 × {size:.0f} + {predicted} + {number(missing)}) ÷ {size:.0f}"
    result.steps.append(Step("Use with the pod", formula, f"{number(expected)} %"))
    score, formula = _packing(expected, plugin.target, plugin.target if plugin.penalty == TARGET else 50.0)
    result.computed = away_from_zero(score)
    result.steps.append(
        Step("Score", f"{formula} = {number(score)}, rounded half away from zero", str(result.computed))
    )
    return result


def _packing(expected: float, target: float, start: float) -> tuple[float, str]:
    at, goal = number(expected), number(target)
    if expected <= target:
        return (100 - target) * expected / target + target, f"up to the target: (100 − {goal}) × {at} ÷ {goal} + {goal}"
    if expected <= 100:
        score = start * (100 - expected) / (100 - target)
        return score, f"above the target: {number(start)} × (100 − {at}) ÷ (100 − {goal})"
    return 0.0, f"{at} % is more than the node has"


def peaks(case: Case, node: int) -> Arithmetic:
    plugin: Peaks = instance(case, "Peaks")
    result = started(
        "By how much the pod raises the node's power draw k0 + k1 × e^(k2 × use), in femtowatts; least is best. "
        "Where nothing is known the rise is 0, which the plugin takes for the cheapest. "
        "Old figures count like new ones."
    )
    use, size = _use(result, case, node)
    result.computed = 0
    if math.isnan(use):
        result.notes.append(f"{UNKNOWN}, so its rise counts as 0: the plugin takes it for the cheapest.")
        return result
    asked = cpu_request(case.pod)
    expected = 100 * (use / 100 * size + float(asked)) / size if size else 0.0
    formula = f"100 × ({number(use)} ÷ 100 × {size:.0f} + request {asked}) ÷ {size:.0f}"
    result.steps.append(Step("Use with the pod", formula, f"{number(expected)} %"))
    if expected > 100:
        result.notes.append("The pod would overload the node, so its rise counts as 0: it is taken for the cheapest.")
        return result
    k1, k2 = (float(factor[node]) for factor in plugin.factors(case.snapshot))
    if case.snapshot.names[node] not in plugin.models:
        result.notes.append("nodePowerModel does not name this node, so its rise is 0: it is taken for the cheapest.")
    rise = power_rise(*(np.array([value]) for value in (use, expected, k1, k2)))
    formula = f"{number(k1)} × (e^({k2:g} × {number(expected)}) − e^({k2:g} × {number(use)}))"
    result.steps.append(Step("Rise of the power draw", formula, f"{float(rise[0]):.6g} W"))
    result.computed = int(femtowatts(rise)[0])
    result.steps.append(Step("In femtowatts", f"× {FEMTO:g}, cut toward 0", str(result.computed)))
    return result


def peaks_normalized(raws: list[int], raw: int) -> str:
    low, high = min(raws), max(raws)
    if not any(raws):
        return "every raw score is 0: unchanged"
    if low == high:
        return "all nodes equal: 100 for all"
    return f"100 − 100 × ({raw} − {low}) ÷ ({high} − {low}), the quotient cut toward 0"


def _use(result: Arithmetic, case: Case, node: int) -> tuple[float, float]:
    """CPU use in percent of capacity, NaN where it is not known, and the capacity in milli-CPU."""
    result.figures.append(figure(case, node, CPU, MEAN))
    size = float(capacity(case.snapshot, CPU)[node])
    use = float(of_capacity(case.snapshot, CPU, MEAN)[node])
    part = int(case.snapshot.amounts(case.snapshot.allocatable, CPU)[node])
    if not math.isnan(use) and part != size:
        formula = f"of the capacity {amount(CPU, size)}, of which {amount(CPU, part)} is allocatable"
        result.steps.append(Step("CPU use", formula, f"{number(use)} %"))
    return use, size
