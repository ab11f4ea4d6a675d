"""Words on randomness: what the seed of a run decides, and whether differences over seeds are significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.studies.compare.comparison import significance

LIKELY = 0.05  # p-value below which a difference is significant
ENOUGH = 6  # fewest seeds with which the p-value can be below that


def drawn(document: Mapping[str, Any]) -> list[str]:
    """What is random in a scenario; empty if every seed gives the same run."""
    arrivals, use = document.get("arrivals") or [], document.get("use") or {}
    found = []
    if any(isinstance(one, Mapping) and "generate" in one for one in arrivals):
        found.append("the generated pods")
    if isinstance(use, Mapping) and use.get("from") == "trace":
        found.append("the recorded machine that each workload's use follows")
    return found


def advice(things: Sequence[str], seeds: int) -> str:
    """Advice on the number of seeds of a comparison."""
    if not things:
        return "One seed suffices: nothing in this scenario is drawn at random, so every seed gives the same runs."
    what = " and ".join(things)
    if seeds < 2:
        return f"One seed decides {what}: add seeds to see whether a difference is more than chance."
    said = (
        f"Means over {seeds} seeds, which decide {what}. p is the chance of a mean difference as large if both "
        "policies were alike (paired permutation test)"
    )
    if seeds < ENOUGH:
        return f"{said}; with {seeds} seeds it cannot fall below {2 / 2**seeds:.2g}, with {ENOUGH} it can reach 0.03."
    return f"{said}."


def verdict(pairs: Sequence[tuple[float, float]]) -> str:
    """Such as "lower in 5 of 6 seeds, p = 0.06: may be chance", from (reference, other) by seed; "" for one pair."""
    if len(pairs) < 2:
        return ""
    chance = significance([first for first, _ in pairs], [second for _, second in pairs])
    total = sum(second - first for first, second in pairs)
    lower, higher = sum(second < first for first, second in pairs), sum(second > first for first, second in pairs)
    if not lower and not higher:
        return f"the same in all {len(pairs)} seeds"
    which, count = ("lower", lower) if total < 0 else ("higher", higher) if total > 0 else ("other", lower + higher)
    said = f"{which} in {count} of {len(pairs)} seeds"
    if chance is None:
        return said
    p = "p < 0.001" if chance < 0.001 else f"p = {chance:.2g}"
    return f"{said}, {p}: {'more than chance' if chance <= LIKELY else 'may be chance'}"
