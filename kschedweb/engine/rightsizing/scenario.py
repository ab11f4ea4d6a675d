"""Usage histories in JSON and the recommendations for them, as ``recommend`` of the command line reads and writes."""

from __future__ import annotations

import re
from datetime import datetime

import numpy as np

from kschedweb.engine.cel.quantities import BINARY_SI, Quantity
from kschedweb.engine.objects.access import Json, ObjectError, each, integer, mapping, number, text
from kschedweb.engine.rightsizing.histogram import LONGEST
from kschedweb.engine.rightsizing.recommender import DAY, Bounds, Percentiles, Settings, Usage, recommend
from kschedweb.engine.rightsizing.samples import MOST, Instance, Sample
from kschedweb.engine.validation.golang import parse_duration

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_FIRST, _BEYOND = 0, 7_258_118_400  # 1970 and 2200, seconds of the epoch
_SPAN = (2**63 - 1) // 2  # ns, the longest interval


def recommended(raw: Json) -> Json:
    """What containers of one pod should request; raises ObjectError, whose text names the field and what is wrong."""
    name, settings = text(raw, "name"), read_settings(mapping(raw, "config"))
    containers = sorted(mapping(raw, "containers"))
    usage = Usage(settings, len(containers))
    usage.add((row, one) for row, container in enumerate(containers) for one in _instances(raw, container, settings))
    if not containers:
        return {"name": name}
    cpu, memory = recommend(usage, np.full(len(containers), len(containers)))
    shown = cpu.rounded(settings.round_cpu), memory.rounded(settings.round_memory)
    answers = {
        container: {
            "target": _quantities(shown, "target", row),
            "lowerBound": _quantities(shown, "lower", row),
            "upperBound": _quantities(shown, "upper", row),
            "rawTarget": {"cpu": int(cpu.target[row]), "memory": int(memory.target[row])},
            "cpuSamples": int(usage.samples[row]),
            "discarded": int(usage.discarded[row]),
        }
        for row, container in enumerate(containers)
    }
    return {"name": name, "containers": answers}


def read_settings(config: Json) -> Settings:
    """The recommender's flags by their names in ``config``; raises ObjectError."""
    usual = Settings()
    return Settings(
        margin=_least_zero(config, "safetyMarginFraction", usual.margin),
        least_cpu=_least_zero(config, "podMinCPUMillicores", usual.least_cpu),
        least_memory=_least_zero(config, "podMinMemoryMb", usual.least_memory),
        cpu=_percentiles(config, "CPU"),
        memory=_percentiles(config, "Memory"),
        cpu_confidence=_span(config, "confidenceIntervalCPU", _SPAN),
        memory_confidence=_span(config, "confidenceIntervalMemory", _SPAN),
        cpu_half_life=_span(config, "cpuHistogramDecayHalfLife", LONGEST),
        memory_half_life=_span(config, "memoryHistogramDecayHalfLife", LONGEST),
        interval=_span(config, "memoryAggregationInterval", LONGEST),
        round_cpu=_step(config, "roundCPUMillicores"),
        round_memory=_step(config, "roundMemoryBytes"),
    )


def _least_zero(config: Json, key: str, default: float) -> float:
    found = number(config, key, "config.", least=0.0)
    return default if found is None else found


def _percentiles(config: Json, resource: str) -> Percentiles:
    usual = Percentiles()
    found = Percentiles(
        _least_zero(config, f"target{resource}Percentile", usual.target),
        _least_zero(config, f"lowerBound{resource}Percentile", usual.lower),
        _least_zero(config, f"upperBound{resource}Percentile", usual.upper),
    )
    for bound, share in (("target", found.target), ("lowerBound", found.lower), ("upperBound", found.upper)):
        if share > 1:
            raise ObjectError(f"config.{bound}{resource}Percentile: must be from 0 to 1, is {share:g}")
    return found


def _span(config: Json, key: str, most: int) -> int:
    """Nanoseconds; missing, null and empty are a day."""
    written = text(config, key, "config.")
    try:
        found = parse_duration(written) if written else DAY
    except ValueError:
        raise ObjectError(f"config.{key}: must be a duration, such as 24h or 1h30m, is {written!r}") from None
    if not 0 < found <= most:
        hours = most // (3600 * 10**9)
        raise ObjectError(f"config.{key}: must be longer than 0 and at most {hours}h, is {written}")
    return found


def _step(config: Json, key: str) -> int:
    found = integer(config, key, 1, "config.", bits=64)
    if not 0 <= found <= MOST:
        raise ObjectError(f"config.{key}: must be from 0 to {MOST}")
    return max(found, 1)


def _instances(raw: Json, container: str, settings: Settings) -> list[Instance]:
    return [
        Instance(settings.interval).take(_sample(*one) for one in each(instance, "samples", path))
        for instance, path in each(mapping(raw, "containers"), container, "containers.")
    ]


def _sample(raw: Json, path: str) -> Sample:
    return Sample(
        time=_time(raw, path),
        cpu=_amount(raw, "cpuMillicores", path),
        memory=_amount(raw, "memoryBytes", path),
        oom=_amount(raw, "oomMemoryRequest", path),
    )


def _amount(raw: Json, key: str, path: str) -> int | None:
    if raw.get(key) is None:
        return None
    found = integer(raw, key, path=path, bits=64)
    if abs(found) > MOST:
        raise ObjectError(f"{path}{key}: must be at most {MOST}")
    return found


def _time(raw: Json, path: str) -> int:
    written = text(raw, "time", path)
    match = _TIME.fullmatch(written)
    try:
        moment = int(datetime.fromisoformat(match[1] + match[3]).timestamp()) if match else None
    except (ValueError, OverflowError):
        moment = None
    if moment is None or match is None:
        raise ObjectError(f"{path}time: must be a time, such as 2026-01-01T00:00:00Z, is {written!r}")
    if not _FIRST <= moment < _BEYOND:
        raise ObjectError(f"{path}time: must be from 1970 to 2199, is {written}")
    return moment * 10**9 + int((match[2] or "0")[:9].ljust(9, "0"))


def _quantities(shown: tuple[Bounds, Bounds], bound: str, row: int) -> dict[str, str]:
    cpu, memory = (int(getattr(bounds, bound)[row]) for bounds in shown)
    return {"cpu": str(Quantity(cpu, -3)), "memory": str(Quantity(memory, 0, format=BINARY_SI))}
