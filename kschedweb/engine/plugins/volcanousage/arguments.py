"""Arguments of VolcanoUsage, with the names that Volcano's plugin usage has.

Volcano silently uses the default for an argument that is out of range. This module does so too, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import PluginArgs
from kschedweb.engine.config.types import DURATION, FLOAT64, INT64, Raw, Struct, StructField
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.quantity import parse_quantity, round_to_unit
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.validation.fields import Problem, child_path, invalid
from kschedweb.engine.validation.golang import SECOND, duration_text

Fits = Callable[[Any], bool]

MEBIBYTE = 1024 * 1024
AMOUNT = Raw("resource.Quantity")

WEIGHTS = {"usage.weight": 5, "cpu.weight": 1, "memory.weight": 1}
THRESHOLDS = {"cpu": 80, "mem": 80}
ESTIMATOR = {"request_ratio": 0.7, "burst_ratio": 0.0, "risk_threshold": 0.6, "risk_factor": 1.2}
BEST_EFFORT = {"be_cpu": "250m", "be_mem": "200Mi"}

THRESHOLD_FIELDS = Struct(
    "usage.Thresholds",
    "Nodes above one of these take no further pods.",
    tuple(
        StructField(
            name, INT64, f"Percent of {words} really used.", pointer=True, default=default, minimum=0, maximum=100
        )
        for (name, default), words in zip(THRESHOLDS.items(), ("CPU", "memory"), strict=True)
    ),
)
ESTIMATOR_FIELDS = Struct(
    "usage.Estimator",
    "What pods are expected to use that the figures do not show yet.",
    (
        StructField("request_ratio", FLOAT64, "Share of the request, 0 to 1.", pointer=True, default=0.7, usual=(0, 1)),
        StructField(
            "burst_ratio",
            FLOAT64,
            "Share of what the limit is above the request, 0 to 1.",
            pointer=True,
            default=0.0,
            usual=(0, 1),
        ),
        StructField(
            "risk_threshold",
            FLOAT64,
            "Load of the node, 0 to 1, from which on the factor counts.",
            pointer=True,
            default=0.6,
            usual=(0, 1),
        ),
        StructField(
            "risk_factor",
            FLOAT64,
            "Estimates on such a node count this many times, at least 1.",
            pointer=True,
            default=1.2,
            usual=(1, 3),
        ),
        StructField(
            "be_cpu",
            AMOUNT,
            "CPU of a pod that requests nothing: milli-CPU, or a quantity such as 250m.",
            default="250m",
        ),
        StructField("be_mem", AMOUNT, "Memory of such a pod: MiB, or a quantity such as 200Mi.", default="200Mi"),
    ),
)
ARGS = args_struct(
    "VolcanoUsageArgs",
    "From which use on nodes take no pods, and how pods are counted that the figures do not show yet.",
    StructField(
        "usage.weight",
        INT64,
        "Volcano's own weight of the score. Here the weight in the profile counts instead.",
        pointer=True,
        default=5,
    ),
    StructField("cpu.weight", INT64, "How much CPU counts, in proportion.", pointer=True, default=1, usual=(0, 10)),
    StructField(
        "memory.weight", INT64, "How much memory counts, in proportion.", pointer=True, default=1, usual=(0, 10)
    ),
    StructField("thresholds", THRESHOLD_FIELDS, "Nodes above one of these take no further pods.", pointer=True),
    StructField("estimator", ESTIMATOR_FIELDS, "What pods are expected to use that just came.", pointer=True),
    StructField(
        "metricsInterval",
        DURATION,
        "How often usage data is read. Younger pods are not in it yet.",
        pointer=True,
        default="30s",
    ),
)


def best_effort(value: Any, resource: str) -> int | None:
    """Return milli-CPU or bytes of a number (milli-CPU, MiB) or a quantity; ``None`` if it is neither, or below 0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return None if value < 0 else value if resource == CPU else value * MEBIBYTE
    try:
        amount = parse_quantity(value) if isinstance(value, str) else -1
    except ObjectError:
        return None
    return None if amount < 0 else round_to_unit(resource, amount)


def _at_least(minimum: float) -> Fits:
    return lambda value: bool(value >= minimum)


def _at_most(maximum: float) -> Fits:
    return lambda value: bool(0 <= value <= maximum)


# Section ("" for the top level), argument, default, test of the range.
RULES: tuple[tuple[str, str, Any, Fits], ...] = (
    *(("", name, default, _at_least(0)) for name, default in WEIGHTS.items()),
    *(("thresholds", name, default, _at_most(100)) for name, default in THRESHOLDS.items()),
    *(
        ("estimator", name, default, _at_least(1) if name == "risk_factor" else _at_most(1))
        for name, default in ESTIMATOR.items()
    ),
    ("estimator", "be_cpu", "250m", lambda value: best_effort(value, CPU) is not None),
    ("estimator", "be_mem", "200Mi", lambda value: best_effort(value, MEMORY) is not None),
)


def set_defaults(args: PluginArgs) -> None:
    for section in ("thresholds", "estimator"):
        args[section] = args[section] or {}
    for section, name, default, fits in RULES:
        values = args[section] if section else args
        value = values.get(name)
        values[name] = value if value is not None and fits(value) else default
    if args["metricsInterval"] is None:
        args["metricsInterval"] = 30 * SECOND


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    if args["metricsInterval"] > 0:
        return []
    actual = duration_text(args["metricsInterval"])
    return [invalid(child_path(path, "metricsInterval"), actual, "must be more than 0s")]


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    remarks = []
    for section, name, default, fits in RULES:
        value = ((args[section] or {}) if section else args).get(name)
        if value is not None and not fits(value):
            sentence = f"{value} is out of range, so {default} is used, as Volcano does"
            remarks.append((f"{section}.{name}" if section else name, sentence))
    if args["usage.weight"] is not None:
        remarks.append(("usage.weight", "counts in Volcano only: here the plugin's weight in the profile does"))
    if args["cpu.weight"] == 0 == args["memory.weight"]:
        remarks.append(("cpu.weight", "with both weights 0 every node scores 0"))
    return remarks
