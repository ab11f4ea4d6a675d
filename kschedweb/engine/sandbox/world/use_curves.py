"""Curves of use over a day: a table of patterns, and the curve of each in steps of five minutes.

Nothing here was recorded: a curve is a rest, a daily peak or two, and fluctuation from a seed, with the figures of the
demo cluster's habits (watermarks/demo.py). Recorded traces are not part of the project.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

# Seconds.
DAY, STEP = 86_400, 300
STEPS = DAY // STEP


@dataclass(frozen=True, slots=True)
class Pattern:
    """The habits of a workload, as shares of what a pod requests."""

    # CPU at rest.
    base: float
    # CPU at the peaks.
    peak: float
    # Hours of the peaks, in UTC.
    hours: tuple[float, ...]
    memory: float
    # How much the CPU fluctuates.
    wavers: float = 0.15
    # The higher, the narrower the peaks.
    sharp: int = 2


PATTERNS = {
    "shop": Pattern(0.35, 1.25, (14,), 0.85, 0.25),
    "office": Pattern(0.1, 0.9, (10, 15), 0.6, 0.2, 6),
    "payments": Pattern(0.3, 0.95, (13,), 0.7, 0.25),
    "gateway": Pattern(0.4, 1.5, (14,), 0.5, 0.25),
    "analytics": Pattern(0.35, 1.3, (2,), 0.8, 0.4),
    "nightly": Pattern(0.05, 1.1, (3,), 0.6, 0.2, 8),
    "batch": Pattern(0.85, 1.0, (3,), 0.7, 0.1),
    "staging": Pattern(0.03, 0.3, (11,), 0.3, 0.5, 3),
    "database": Pattern(0.35, 0.75, (14,), 0.9, 0.2),
    "cache": Pattern(0.2, 0.5, (14, 20), 0.95, 0.1),
    "training": Pattern(0.75, 0.95, (20,), 0.85, 0.1),
    "serving": Pattern(0.3, 1.0, (19,), 0.8, 0.2),
    "monitoring": Pattern(0.4, 0.55, (12,), 0.75, 0.1),
    "steady": Pattern(0.3, 0.6, (12,), 0.6, 0.15),
}
DEFAULT_PATTERN = "steady"
NAMES = tuple(PATTERNS)


@lru_cache(maxsize=8)
def day_curves(seed: int) -> Floats:
    """Return the share of its requested CPU that a pod uses. Shape [patterns, steps of the day]."""
    random = np.random.default_rng(seed)
    hour = np.arange(STEPS) * (STEP / 3600)
    rows = []
    for pattern in PATTERNS.values():
        waves = [(0.5 + 0.5 * np.cos(2 * np.pi * (hour - peak) / 24)) ** pattern.sharp for peak in pattern.hours]
        level = pattern.base + (pattern.peak - pattern.base) * np.max(waves, axis=0)
        # A moving sum of nine draws over the root of nine: it is smooth, and has the variance of one draw.
        noise = np.convolve(random.normal(0, 1, STEPS + 8), np.ones(9) / 3, "valid")
        rows.append(np.maximum(0.01, level * (1 + pattern.wavers * noise)))
    return np.array(rows)


def curves_at(seed: int, places: np.ndarray[tuple[int], np.dtype[np.intp]], times: Floats) -> Floats:
    """Return the curves of the patterns at ``places`` (of ``NAMES``), each at its own time (seconds of the epoch)."""
    step = times % DAY / STEP
    before = step.astype(np.intp) % STEPS
    part = step - np.floor(step)
    rows = day_curves(seed)
    interpolated: Floats = rows[places, before] * (1 - part) + rows[places, (before + 1) % STEPS] * part
    return interpolated


def peak_share(seed: int, pattern: str, time: float) -> float:
    """Return how near a pattern is to its daily peak at ``time``, from 0 to 1."""
    row = day_curves(seed)[NAMES.index(pattern if pattern in PATTERNS else DEFAULT_PATTERN)]
    value = row[int(time % DAY / STEP) % STEPS]
    return float((value - row.min()) / max(1e-9, row.max() - row.min()))
