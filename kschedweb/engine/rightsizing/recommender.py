"""Recommended requests of containers: percentiles of usage with a margin, and bounds that narrow with confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from kschedweb.engine.rightsizing.go_floats import Floats, power
from kschedweb.engine.rightsizing.histogram import CPU_BUCKETS, MEMORY_BUCKETS, Histograms, Ints
from kschedweb.engine.rightsizing.samples import MAX_RESOURCE_AMOUNT, Instance, clamp_amount
from kschedweb.engine.values import dataclass

# Nanoseconds, as all spans here.
MINUTE = 60 * 10**9
DAY = 24 * 60 * MINUTE
# The weights of one sample of CPU and of one peak of memory.
CPU_WEIGHT, MEMORY_WEIGHT = 0.1, 1.0


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of usage, from 0 to 1."""

    target: float = 0.9
    lower: float = 0.5
    upper: float = 0.95


@dataclass(frozen=True, slots=True)
class RecommenderSettings:
    """The flags of the recommender. Spans are nanoseconds; minima are those of a pod."""

    # The share that is added to every percentile.
    margin: float = 0.15
    # Millicores.
    least_cpu: float = 25.0
    # MiB.
    least_memory: float = 250.0
    cpu: Percentiles = field(default_factory=Percentiles)
    memory: Percentiles = field(default_factory=Percentiles)
    cpu_confidence: int = DAY
    memory_confidence: int = DAY
    cpu_half_life: int = DAY
    memory_half_life: int = DAY
    # Memory counts with its peak in each interval.
    interval: int = DAY
    # Millicores.
    round_cpu: int = 1
    # Bytes.
    round_memory: int = 1


class Bounds(NamedTuple):
    """Recommendations in millicores or bytes, int64[containers] each."""

    target: Ints
    lower: Ints
    upper: Ints

    def round_up(self, step: int) -> Bounds:
        """Return each amount rounded up to a multiple of ``step``."""
        if step == 1:
            return self
        return Bounds(*(np.ceil(amounts.astype(np.float64) / step).astype(np.int64) * step for amounts in self))


class Usage:
    """The usage of many containers; a container has one instance for each pod that ran it."""

    def __init__(self, settings: RecommenderSettings, containers: int) -> None:
        self.settings = settings
        self.cpu = Histograms(CPU_BUCKETS, settings.cpu_half_life, containers)
        self.memory = Histograms(MEMORY_BUCKETS, settings.memory_half_life, containers)
        # Times of the first and last sample of CPU, in ns.
        self.first: Ints = np.full(containers, np.iinfo(np.int64).max)
        self.last: Ints = np.zeros(containers, np.int64)
        # Samples of CPU.
        self.samples: Ints = np.zeros(containers, np.int64)
        self.discarded: Ints = np.zeros(containers, np.int64)

    def add_instances(self, instances: Iterable[tuple[int, Instance]]) -> None:
        """Add each instance to the container at its position, in their order."""
        listed = list(instances)
        containers = np.array([container for container, _ in listed], np.int64)
        np.add.at(self.discarded, containers, np.array([instance.discarded for _, instance in listed], np.int64))
        self._add_cpu(*_to_rows(containers, [instance.cpu for _, instance in listed], 2))
        self._add_memory(*_to_rows(containers, [instance.peaks for _, instance in listed], 3))

    def _add_cpu(self, rows: Ints, samples: Ints) -> None:
        times = samples[:, 0]
        self.cpu.add_samples(rows, samples[:, 1] / 1000.0, CPU_WEIGHT, times)
        np.minimum.at(self.first, rows, times)
        np.maximum.at(self.last, rows, times)
        np.add.at(self.samples, rows, 1)

    def _add_memory(self, rows: Ints, peaks: Ints) -> None:
        ends, amounts, replaced = peaks.T
        self.memory.replace_samples(rows, replaced.astype(np.float64), amounts.astype(np.float64), MEMORY_WEIGHT, ends)

    def get_confidence(self, interval: int) -> Floats:
        """Return the time over which CPU was seen, or the number of samples if less, in ``interval``s.

        float64[containers]; a sample counts as a minute.
        """
        span = np.where(self.samples > 0, self.last - self.first, 0).astype(np.float64) / interval
        minutes = interval // MINUTE + interval % MINUTE / MINUTE
        return np.minimum(span, self.samples / minutes)


def _to_rows(containers: Ints, listed: list[Any], width: int) -> tuple[Ints, Ints]:
    """Return the tuples of ``width`` numbers of all instances, with the container of each."""
    counts = np.array([len(numbers) for numbers in listed], np.int64)
    flat = np.fromiter(chain.from_iterable(chain.from_iterable(listed)), np.int64, width * counts.sum())
    return np.repeat(containers, counts), flat.reshape(-1, width)


def get_recommended_pod_resources(usage: Usage, siblings: Ints) -> tuple[Bounds, Bounds]:
    """Return the bounds of CPU and of memory.

    ``siblings`` is int64[containers]: the number of containers in the pod of each.
    """
    settings, share = usage.settings, 1.0 / siblings
    least_cpu = _to_amounts(clamp_amount(settings.least_cpu * 0.001 * 1000.0) * share)
    least_memory = _to_amounts(clamp_amount(settings.least_memory * 1024 * 1024) * share)
    cpu = _compute_bounds(
        usage.cpu, settings.cpu, 1000.0, usage.get_confidence(settings.cpu_confidence), settings.margin
    )
    memory = _compute_bounds(
        usage.memory, settings.memory, 1.0, usage.get_confidence(settings.memory_confidence), settings.margin
    )
    return (
        Bounds(*(np.maximum(amounts, least_cpu) for amounts in cpu)),
        Bounds(*(np.maximum(amounts, least_memory) for amounts in memory)),
    )


def _compute_bounds(used: Histograms, shares: Percentiles, unit: float, confidence: Floats, margin: float) -> Bounds:
    # Without any confidence the upper bound is infinite.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bases = []
        for share in (shares.target, shares.lower, shares.upper):
            base = _to_amounts(used.percentile(share) * unit)
            bases.append(base + _to_amounts(base.astype(np.float64) * margin))
        target, lower, upper = bases
        narrowed = np.array([power(factor, -2) for factor in 1.0 + 0.001 / confidence])
        return Bounds(target, _to_amounts(lower * narrowed), _to_amounts(upper * (1.0 + 1.0 / confidence)))


def _to_amounts(values: Floats) -> Ints:
    """Return whole amounts as ``clamp_amount`` does; NaN counts as 0, since a minimum is recommended anyway."""
    return np.nan_to_num(np.clip(values, 0.0, float(MAX_RESOURCE_AMOUNT)), nan=0.0).astype(np.int64)
