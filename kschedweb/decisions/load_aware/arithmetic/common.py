"""What the arithmetic of every load-aware plugin needs: measured inputs with their age, and numbers as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.parts import Arithmetic, Figure
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.state.watermarks.table import workload_of
from kschedweb.web.units import cpu, memory

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
NOTHING = "kschedweb has no figures of this cluster's use for this moment."


def instance(case: Case, plugin: str) -> Any:
    """The plugin as the profile made it from its arguments."""
    return next(item for item in case.scheduler.framework(case.pod).plugins("score") if item.name == plugin)


def figure(case: Case, node: int, resource: str, key: str, *, stale_after: float = math.inf) -> Figure:
    """A node's figure with its age and origin; "no figure" where there is none. ``stale_after`` in seconds."""
    label = f"{RESOURCES[resource]}, {WORDS.get(key, key)}"
    watermarks = case.snapshot.watermarks
    if watermarks is None or math.isnan(watermarks.column(resource, key)[node]):
        return Figure(label, "no figure")
    age = case.snapshot.now - float(watermarks.updated[node])
    value = f"{number(float(watermarks.column(resource, key)[node]))} % of allocatable"
    return Figure(label, value, duration(age), watermarks.source or "not said", age > stale_after)


def used_by_pod(case: Case, resource: str, key: str) -> Figure:
    """What the pod is taken to use, by its workload's figures or by its limit."""
    label = f"Pod's {RESOURCES[resource]}, {WORDS.get(key, key)}"
    watermarks, pod = case.snapshot.watermarks, case.pod
    known = (watermarks.workload(pod, case.snapshot.objects) if watermarks else None) or {}
    value = known.get(resource, {}).get(key)
    if value is not None:
        name = workload_of(pod, case.snapshot.objects)
        return Figure(label, amount(resource, value * (1000 if resource == CPU else 1)), origin=f"pods of {name}")
    limit = pod.limits.get(resource, 0)
    said = "limit; its workload has no figures" if limit else "no limit, and its workload has no figures: 0"
    return Figure(label, amount(resource, limit), origin=said)


def amount(resource: str, value: float) -> str:
    return f"{cpu(round(value))} CPU" if resource == CPU else memory(round(value))


def number(value: float) -> str:
    """A number with as many decimals as one reads: 12.5, 0.0312, 18.75."""
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "without bound"
    text = f"{value:.4f}" if abs(value) < 1 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float) -> str:
    """How old something is: "40 s", "4 min", "3 h", "2 days"; figures of the future say so."""
    if math.isnan(seconds):
        return "age not known"
    if seconds < 0:
        return f"{duration(-seconds)} ahead of the snapshot"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"


def away_from_zero(value: float) -> int:
    """The nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def started(about: str) -> Arithmetic:
    return Arithmetic("", "", about)
