"""Usage histories in JSON and their recommendations, as the command ``recommend`` reads and writes them."""

from __future__ import annotations

import re
from datetime import datetime

import numpy as np

from kschedweb.engine.cel.quantities import BINARY_SI, Quantity
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_integer,
    get_mapping,
    get_number,
    get_objects_and_paths,
    get_string,
)
from kschedweb.engine.rightsizing.histogram import LONGEST
from kschedweb.engine.rightsizing.recommender import (
    DAY,
    Bounds,
    Percentiles,
    RecommenderSettings,
    Usage,
    get_recommended_pod_resources,
)
from kschedweb.engine.rightsizing.samples import MAX_RESOURCE_AMOUNT, Instance, UsageSample
from kschedweb.engine.validation.golang import parse_duration

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
# 1970 and 2200, in seconds of the epoch.
_FIRST, _BEYOND = 0, 7_258_118_400
# The longest interval, in nanoseconds.
_SPAN = (2**63 - 1) // 2


def recommend_scenario(raw: Json) -> Json:
    """Return the recommendations for the containers of one pod.

    Raise ObjectError, which names the field and the problem.
    """
    name, settings = get_string(raw, "name"), read_settings(get_mapping(raw, "config"))
    containers = sorted(get_mapping(raw, "containers"))
    usage = Usage(settings, len(containers))
    usage.add_instances(
        (row, instance)
        for row, container in enumerate(containers)
        for instance in _read_instances(raw, container, settings)
    )
    if not containers:
        return {"name": name}
    cpu, memory = get_recommended_pod_resources(usage, np.full(len(containers), len(containers)))
    rounded = cpu.round_up(settings.round_cpu), memory.round_up(settings.round_memory)
    answers = {
        container: {
            "target": _format_quantities(rounded, "target", row),
            "lowerBound": _format_quantities(rounded, "lower", row),
            "upperBound": _format_quantities(rounded, "upper", row),
            "rawTarget": {"cpu": int(cpu.target[row]), "memory": int(memory.target[row])},
            "cpuSamples": int(usage.samples[row]),
            "discarded": int(usage.discarded[row]),
        }
        for row, container in enumerate(containers)
    }
    return {"name": name, "containers": answers}


def read_settings(config: Json) -> RecommenderSettings:
    """Read the recommender's flags by their names in ``config``; raise ObjectError."""
    usual = RecommenderSettings()
    return RecommenderSettings(
        margin=_least_zero(config, "safetyMarginFraction", usual.margin),
        least_cpu=_least_zero(config, "podMinCPUMillicores", usual.least_cpu),
        least_memory=_least_zero(config, "podMinMemoryMb", usual.least_memory),
        cpu=_read_percentiles(config, "CPU"),
        memory=_read_percentiles(config, "Memory"),
        cpu_confidence=_read_duration(config, "confidenceIntervalCPU", _SPAN),
        memory_confidence=_read_duration(config, "confidenceIntervalMemory", _SPAN),
        cpu_half_life=_read_duration(config, "cpuHistogramDecayHalfLife", LONGEST),
        memory_half_life=_read_duration(config, "memoryHistogramDecayHalfLife", LONGEST),
        interval=_read_duration(config, "memoryAggregationInterval", LONGEST),
        round_cpu=_read_step(config, "roundCPUMillicores"),
        round_memory=_read_step(config, "roundMemoryBytes"),
    )


def _least_zero(config: Json, key: str, default: float) -> float:
    setting = get_number(config, key, "config.", minimum=0.0)
    return default if setting is None else setting


def _read_percentiles(config: Json, resource: str) -> Percentiles:
    usual = Percentiles()
    percentiles = Percentiles(
        _least_zero(config, f"target{resource}Percentile", usual.target),
        _least_zero(config, f"lowerBound{resource}Percentile", usual.lower),
        _least_zero(config, f"upperBound{resource}Percentile", usual.upper),
    )
    for bound, share in (
        ("target", percentiles.target),
        ("lowerBound", percentiles.lower),
        ("upperBound", percentiles.upper),
    ):
        if share > 1:
            raise ObjectError(f"config.{bound}{resource}Percentile: must be from 0 to 1, is {share:g}")
    return percentiles


def _read_duration(config: Json, key: str, maximum: int) -> int:
    """Return nanoseconds; missing, null and empty are a day."""
    raw_duration = get_string(config, key, "config.")
    try:
        duration = parse_duration(raw_duration) if raw_duration else DAY
    except ValueError:
        raise ObjectError(f"config.{key}: must be a duration, such as 24h or 1h30m, is {raw_duration!r}") from None
    if not 0 < duration <= maximum:
        hours = maximum // (3600 * 10**9)
        raise ObjectError(f"config.{key}: must be longer than 0 and at most {hours}h, is {raw_duration}")
    return duration


def _read_step(config: Json, key: str) -> int:
    step = get_integer(config, key, 1, "config.", bits=64)
    if not 0 <= step <= MAX_RESOURCE_AMOUNT:
        raise ObjectError(f"config.{key}: must be from 0 to {MAX_RESOURCE_AMOUNT}")
    return max(step, 1)


def _read_instances(raw: Json, container: str, settings: RecommenderSettings) -> list[Instance]:
    return [
        Instance(settings.interval).add_samples(
            _read_sample(*entry) for entry in get_objects_and_paths(instance, "samples", path)
        )
        for instance, path in get_objects_and_paths(get_mapping(raw, "containers"), container, "containers.")
    ]


def _read_sample(raw: Json, path: str) -> UsageSample:
    return UsageSample(
        time=_read_time(raw, path),
        cpu=_read_amount(raw, "cpuMillicores", path),
        memory=_read_amount(raw, "memoryBytes", path),
        oom=_read_amount(raw, "oomMemoryRequest", path),
    )


def _read_amount(raw: Json, key: str, path: str) -> int | None:
    if raw.get(key) is None:
        return None
    amount = get_integer(raw, key, path=path, bits=64)
    if abs(amount) > MAX_RESOURCE_AMOUNT:
        raise ObjectError(f"{path}{key}: must be at most {MAX_RESOURCE_AMOUNT}")
    return amount


def _read_time(raw: Json, path: str) -> int:
    raw_time = get_string(raw, "time", path)
    match = _TIME.fullmatch(raw_time)
    try:
        moment = int(datetime.fromisoformat(match[1] + match[3]).timestamp()) if match else None
    except (ValueError, OverflowError):
        moment = None
    if moment is None or match is None:
        raise ObjectError(f"{path}time: must be a time, such as 2026-01-01T00:00:00Z, is {raw_time!r}")
    if not _FIRST <= moment < _BEYOND:
        raise ObjectError(f"{path}time: must be from 1970 to 2199, is {raw_time}")
    return moment * 10**9 + int((match[2] or "0")[:9].ljust(9, "0"))


def _format_quantities(rounded: tuple[Bounds, Bounds], bound: str, row: int) -> dict[str, str]:
    cpu, memory = (int(getattr(bounds, bound)[row]) for bounds in rounded)
    return {"cpu": str(Quantity(cpu, -3)), "memory": str(Quantity(memory, 0, format=BINARY_SI))}
