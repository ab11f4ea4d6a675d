"""Helpers for presenters of load-aware plugins: measured inputs with their age, and numbers as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep, Figure
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.watermarks.capacity import capacity_percent, node_capacity
from kschedweb.engine.state.watermarks.table import workload_of
from kschedweb.engine.state.watermarks.trimaran import DEVIATION, MEAN
from kschedweb.web.units import format_cpu, format_memory

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case

WORDS = {
    "5m": "mean over 5 minutes",
    "10m": "mean over 10 minutes",
    "15m": "mean over 15 minutes",
    "1h": "mean over one hour",
    "1d": "mean over one day",
    "15m_std": "standard deviation over 15 minutes",
    "1h_max": "highest 5-minute mean in one hour",
    "1d_max": "highest 5-minute mean in one day",
}
RESOURCES = {"cpu": "CPU", "memory": "memory"}
AS_NEW = "Old figures count as much as new ones."
UNKNOWN_CPU = "The CPU use of this node is not known"
NOTHING = "kschedweb has no usage data of this cluster for this time."


def read_figure(case: Case, node: int, resource: str, key: str, *, stale_after: float = math.inf) -> Figure:
    """Return a node's figure with its age and source, or "no figure". ``stale_after`` is in seconds."""
    label = f"{RESOURCES[resource]}, {WORDS.get(key, key)}"
    watermarks = case.snapshot.watermarks
    if watermarks is None or math.isnan(watermarks.column(resource, key)[node]):
        return Figure(label, "no figure")
    age = case.snapshot.now - float(watermarks.updated[node])
    value = f"{number(float(watermarks.column(resource, key)[node]))} % of allocatable"
    return Figure(label, value, None if math.isnan(age) else age, watermarks.source or "not said", age > stale_after)


def used_by_pod(case: Case, resource: str, key: str) -> Figure:
    """Return the pod's expected usage, from its workload's figures or its limit."""
    label = f"Pod's {RESOURCES[resource]}, {WORDS.get(key, key)}"
    watermarks, pod = case.snapshot.watermarks, case.pod
    workload_figures = (watermarks.workload_figures(pod, case.snapshot.objects) if watermarks else None) or {}
    value = workload_figures.get(resource, {}).get(key)
    if value is not None:
        name = workload_of(pod, case.snapshot.objects)
        # Workloads have cores, all else milli-CPU.
        return Figure(label, amount(resource, value * (1000 if resource == CPU else 1)), origin=f"pods of {name}")
    limit = pod.limits.get(resource, 0)
    origin = (
        "its limit, as its workload has no figures" if limit else "0, as it has no limit and its workload no figures"
    )
    return Figure(label, amount(resource, limit), origin=origin)


def amount(resource: str, value: float) -> str:
    return f"{format_cpu(round(value))} CPU" if resource == CPU else format_memory(round(value))


def number(value: float) -> str:
    """Return a number with few decimals, such as 12.5, 0.0312 or 18.75."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "without bound"
    text = f"{value:.4f}" if abs(value) < 1 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def away_from_zero(value: float) -> int:
    """Round to the nearest integer, halves away from zero, as Go's math.Round; Python rounds halves to even."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def cpu_use(result: Arithmetic, case: Case, node: int) -> tuple[float, float]:
    """Return the CPU usage in percent of capacity, NaN if not known, and the capacity in milli-CPU."""
    result.figures.append(read_figure(case, node, CPU, MEAN))
    size = float(node_capacity(case.snapshot, CPU)[node])
    use = float(capacity_percent(case.snapshot, CPU, MEAN)[node])
    part = int(case.snapshot.resource_row(case.snapshot.allocatable, CPU)[node])
    if not math.isnan(use) and part != size:
        formula = f"of the capacity {amount(CPU, size)}, of which {amount(CPU, part)} is allocatable"
        result.steps.append(ArithmeticStep("CPU use", formula, f"{number(use)} %"))
    return use, size


def spread_figures(result: Arithmetic, case: Case, node: int) -> bool:
    """Add the measured inputs. Return False if there are none at all, which makes the score 0."""
    if case.snapshot.watermarks is None:
        result.notes.append(f"{NOTHING} Every node scores 0.")
        result.computed = 0
        return False
    for resource in (CPU, MEMORY):
        for key in (MEAN, DEVIATION):
            spread_figure = read_figure(case, node, resource, key)
            result.figures.append(spread_figure)
            if key == DEVIATION and spread_figure.value == "no figure":
                result.notes.append(f"No standard deviation of {RESOURCES[resource]} is known: it counts as 0.")
    return True
