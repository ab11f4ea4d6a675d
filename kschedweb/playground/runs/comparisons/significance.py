"""Words on randomness: what the seed of a run decides, and whether differences over seeds are significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from kschedweb.engine.studies.compare.significance import compute_p_value

# Fewest seeds with which the p-value can be below 0.05: the smallest is 2 / 2**seeds.
ENOUGH = 6
RESOLVED = gettext_noop(
    "Changes below the noise floor do not count. The floor is 1 pod or node at the end, the square root of the "
    "count for events, 1 s or 1 %% for times, 0.5 points for percentages, and 1 %% for node-hours"
)


def random_inputs(document: Mapping[str, Any]) -> list[str]:
    """Return what is random in a scenario; empty if every seed gives the same run."""
    arrivals, use = document.get("arrivals") or [], document.get("use") or {}
    inputs = []
    if any(isinstance(arrival, Mapping) and "generate" in arrival for arrival in arrivals):
        inputs.append(gettext("the generated pods"))
    if isinstance(use, Mapping) and use.get("from") == "trace":
        inputs.append(gettext("the recorded machine that each workload's use follows"))
    return inputs


def seed_advice(inputs: Sequence[str], seeds: int) -> str:
    """Return which changes count as differences, and advice on the number of seeds of a comparison."""
    resolved = {"resolved": gettext(RESOLVED) % {}}
    if not inputs:
        sentence = gettext(
            "One seed is enough: nothing in this scenario is random, so every seed gives the same runs. %(resolved)s."
        )
        return sentence % resolved
    args = resolved | {"what": gettext(" and ").join(inputs), "seeds": str(seeds)}
    if seeds < 2:
        sentence = gettext(
            "One seed decides %(what)s: add seeds to see whether a difference is more than chance. %(resolved)s."
        )
        return sentence % args
    args["least"], args["enough"] = f"{2 / 2**seeds:.2g}", str(ENOUGH)
    sentence = gettext(
        "Values are means over %(seeds)s seeds, which decide %(what)s. %(resolved)s; and at least half of the 95 %% "
        "confidence interval over the seeds. p is the chance of a mean change as large if both policies were alike "
        "(paired permutation test)"
    )
    if seeds < ENOUGH:
        args["said"] = sentence % args
        few = gettext(
            "%(said)s; with %(seeds)s seeds it cannot fall below %(least)s, with %(enough)s it can reach 0.03."
        )
        return few % args
    return f"{sentence % args}."


def seed_verdict(pairs: Sequence[tuple[float, float]]) -> str:
    """Return words such as "lower in 5 of 6 seeds, p = 0.06" for pairs of (reference, other); "" for one pair."""
    if len(pairs) < 2:
        return ""
    p = compute_p_value([first for first, _ in pairs], [second for _, second in pairs])
    total = sum(second - first for first, second in pairs)
    lower, higher = sum(second < first for first, second in pairs), sum(second > first for first, second in pairs)
    if p is None or (not lower and not higher):
        return gettext("the same in all %(seeds)s seeds") % {"seeds": len(pairs)}
    args = {"seeds": len(pairs), "p": "p < 0.001" if p < 0.001 else f"p = {p:.2g}"}
    # The sign of the mean change decides, which need not be that of most seeds.
    if total < 0:
        return gettext("lower in %(count)s of %(seeds)s seeds, %(p)s") % {**args, "count": lower}
    if total > 0:
        return gettext("higher in %(count)s of %(seeds)s seeds, %(p)s") % {**args, "count": higher}
    return gettext("different in %(count)s of %(seeds)s seeds, %(p)s") % {**args, "count": lower + higher}
