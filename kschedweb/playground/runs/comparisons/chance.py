"""Words on randomness: what the seed of a run decides, and whether differences over seeds are significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.studies.compare.significance import significance

ENOUGH = 6  # fewest seeds with which the p-value can be below 0.05
RESOLVED = (
    "A change below the noise floor is no difference. The floor is 1 pod or node at the end; of what happens on the "
    "way, the square root of the count; of a time 1 s or 1 %; of a percentage 0.5 points; of node-hours 1 %"
)


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
    """What decides which changes are differences, and advice on the number of seeds of a comparison."""
    if not things:
        return f"One seed is enough: nothing in this scenario is random, so every seed gives the same runs. {RESOLVED}."
    what = " and ".join(things)
    if seeds < 2:
        return f"One seed decides {what}: add seeds to see whether a difference is more than chance. {RESOLVED}."
    said = (
        f"Values are means over {seeds} seeds, which decide {what}. {RESOLVED}; and at least half of the 95 % "
        "confidence interval over the seeds. p is the chance of a mean change as large if both policies were "
        "alike (paired permutation test)"
    )
    if seeds < ENOUGH:
        return f"{said}; with {seeds} seeds it cannot fall below {2 / 2**seeds:.2g}, with {ENOUGH} it can reach 0.03."
    return f"{said}."


def verdict(pairs: Sequence[tuple[float, float]]) -> str:
    """Such as "lower in 5 of 6 seeds, p = 0.06", from (reference, other) by seed; "" for one pair."""
    if len(pairs) < 2:
        return ""
    p = significance([first for first, _ in pairs], [second for _, second in pairs])
    total = sum(second - first for first, second in pairs)
    lower, higher = sum(second < first for first, second in pairs), sum(second > first for first, second in pairs)
    if p is None or (not lower and not higher):
        return f"the same in all {len(pairs)} seeds"
    which, count = ("lower", lower) if total < 0 else ("higher", higher) if total > 0 else ("different", lower + higher)
    return f"{which} in {count} of {len(pairs)} seeds, {'p < 0.001' if p < 0.001 else f'p = {p:.2g}'}"
