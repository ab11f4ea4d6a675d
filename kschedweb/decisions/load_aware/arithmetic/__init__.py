"""The arithmetic of load-aware scores: measured inputs with their age and origin, then formulas with the numbers in.

Each function works the score out from what it shows; tests hold ``computed`` against the engine's raw score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kschedweb.decisions.load_aware.arithmetic import crane, hhe, koordinator, packing, risk, volcano
from kschedweb.decisions.parts import Arithmetic

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case

WORKED: dict[str, Callable[[Case, int], Arithmetic]] = {
    "HheWaterLevelBalance": hhe.worked,
    "TargetLoadPacking": packing.target_load_packing,
    "LoadVariationRiskBalancing": risk.variation,
    "LowRiskOverCommitment": risk.over_commitment,
    "Peaks": packing.peaks,
    "Dynamic": crane.dynamic,
    "LoadAwareScheduling": koordinator.load_aware,
    "VolcanoUsage": volcano.usage,
}
# How raw scores become 0 to 100, with the numbers put in.
NORMALIZED: dict[str, Callable[[list[int], int], str]] = {"Peaks": packing.peaks_normalized}
