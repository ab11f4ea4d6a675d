"""The arguments of load-aware plugins in the form: which numbers have a slider, which groups are given as a whole."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from kschedweb.engine.releases import CURRENT

Schema = dict[str, Any]  # a part of the engine's JSON Schema

FARTHEST = 1000  # a range beyond this cannot be set by hand


class Slider(NamedTuple):
    low: str
    high: str
    step: str


# Ends that the schema does not know: what is sensible, not what is allowed. By the end of the field's name.
SENSIBLE: dict[str, tuple[float, float]] = {
    "*.clusterCpuMinNodeWeight": (0, 2),
    "*.windowWeights.*": (0, 1),
    "*.HheWaterLevelBalance.resourceWeights.*": (0, 2),
    "*.targetUtilization": (1, 100),
    "*.safeVarianceMargin": (0, 3),
    "*.safeVarianceSensitivity": (0, 4),
    "*.smoothingWindowSize": (1, 30),
    "*.riskLimitWeights.*": (0, 1),
    "*.LoadAwareScheduling.resourceWeights.*": (1, 10),
    "*sageThresholds.*": (0, 100),
    "*.estimatedScalingFactors.*": (1, 100),
    "*.VolcanoUsage.cpu.weight": (0, 10),
    "*.VolcanoUsage.memory.weight": (0, 10),
    "*.estimator.risk_factor": (1, 3),
    "*.estimator.*_*": (0, 1),
}


# Groups of weights whose defaults hold only where the whole group is absent; a weight left out of one counts as 0.
WHOLE = ("windowWeights", "resourceWeights", "usageThresholds")


@cache
def load_aware() -> frozenset[str]:
    """The plugins that come from other schedulers than kube-scheduler."""
    return frozenset(spec.name for spec in CURRENT.registry.specs.values() if spec.origin)


def slider(schema: Schema, name: str) -> Slider | None:
    """The slider for the number called ``name`` ("args.<plugin>.…"), ``None`` where there is none."""
    if _plugin(name) is None:
        return None
    ends: tuple[Any, Any] = next(
        (ends for pattern, ends in SENSIBLE.items() if fnmatchcase(name, pattern)),
        (schema.get("minimum"), schema.get("maximum")),
    )
    low, high = ends
    if low is None or high is None or high - low > FARTHEST:
        return None
    return Slider(f"{low:g}", f"{high:g}", "1" if schema.get("type") == "integer" or high > 10 else "0.05")


def given_as_a_whole(name: str) -> bool:
    """Whether the group of fields called ``name`` ("args.<plugin>.…") takes its defaults as a whole only."""
    return _plugin(name) is not None and name.count(".") == 2 and name.rpartition(".")[2] in WHOLE


def completed(plugin: str, args: dict[str, Any], before: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Write the other weights beside the first one of a group that a person sets, so that only that one changes.

    ``before`` are the plugin's arguments as they stood in the document.
    """
    for group in WHOLE if plugin in load_aware() else ():
        if isinstance(args.get(group), dict) and not before.get(group):
            args[group] = {**defaults.get(group, {}), **args[group]}


def _plugin(name: str) -> str | None:
    prefix, _, rest = name.partition(".")
    plugin = rest.partition(".")[0]
    return plugin if prefix == "args" and plugin in load_aware() else None
