"""The arithmetic of priorities about how full a node is, or would be with the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.classic.calculation import (
    MAX_PRIORITY,
    ScoreCalculation,
    ScoreContext,
    multiply_int64,
    truncate_divide,
)
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.releases.classic.objects import get_requests as asked_then
from kschedweb.web.units import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.engine.releases.classic.priorities.room import Point

# Percent.
FULL = 100
DEFAULTS = "Containers that do not say what they ask for count with 100 m of CPU and 200 MiB."


def _requested_shares(context: ScoreContext) -> list[tuple[str, int, int, str]]:
    """Return for CPU and memory: name, requested with the pod on the node, allocatable, and the sum in words."""
    snapshot, pod, shares = context.case.snapshot, context.case.pod, []
    for row, name in enumerate((CPU, MEMORY)):
        node_requested, pod_request = int(snapshot.nonzero[row, context.position]), pod.occupied_nonzero[row]
        has = int(snapshot.resource_row(snapshot.allocatable, name)[context.position])
        shares.append(
            (
                name,
                node_requested + pod_request,
                has,
                f"{format_amount(node_requested, name)} + {format_amount(pod_request, name)}"
                f" of {format_amount(has, name)}",
            )
        )
    return shares


def _explain_mean(
    context: ScoreContext, description: str, score_resource: Callable[[int, int], tuple[int, str]]
) -> ScoreCalculation:
    """Explain the mean of ``score_resource(requested, allocatable)`` over CPU and memory."""
    calculation, scores = ScoreCalculation(f"{description} {DEFAULTS}"), []
    for name, used, has, share_text in _requested_shares(context):
        score, formula = score_resource(used, has)
        scores.append(score)
        calculation.add_step(name, f"{share_text}: {formula}", score)
    mean = truncate_divide(sum(scores), 2)
    calculation.add_step("Mean", f"({scores[0]} + {scores[1]}) ÷ 2, cut to a whole number", mean)
    return calculation.with_score(mean)


def explain_least_requested(context: ScoreContext) -> ScoreCalculation:
    def score_resource(used: int, has: int) -> tuple[int, str]:
        if not has or used > has:
            return 0, "there is none" if not has else "more than there is"
        return truncate_divide(
            multiply_int64(has - used, MAX_PRIORITY), has
        ), f"({has} − {used}) × {MAX_PRIORITY} ÷ {has}"

    return _explain_mean(context, "What would be left of the node with the pod on it; more is better.", score_resource)


def explain_most_requested(context: ScoreContext) -> ScoreCalculation:
    def score_resource(used: int, has: int) -> tuple[int, str]:
        if not has or used > has:
            return 0, "there is none" if not has else "more than there is"
        return truncate_divide(multiply_int64(used, MAX_PRIORITY), has), f"{used} × {MAX_PRIORITY} ÷ {has}"

    return _explain_mean(
        context, "What would be given away of the node with the pod on it; more is better.", score_resource
    )


def explain_capacity_ratio(context: ScoreContext) -> ScoreCalculation:
    points: list[Point] = context.plugin.points

    def score_resource(used: int, has: int) -> tuple[int, str]:
        if not has or used > has:
            percent, share = FULL, f"{FULL} %: {'there is none' if not has else 'more than there is'}"
        else:
            percent = FULL - truncate_divide(multiply_int64(has - used, FULL), has)
            share = f"{FULL} − ({has} − {used}) × {FULL} ÷ {has} = {percent} %"
        score, line = _on_line(points, min(max(percent, 0), FULL))
        return score, f"{share}; {line}"

    shape = ", ".join(f"{percent} % → {score}" for percent, score in points)
    return _explain_mean(
        context, f"The score that the line {shape} has where the node would be used so far.", score_resource
    )


def _on_line(points: list[Point], at: int) -> tuple[int, str]:
    """Return the score at ``at`` percent, and the interpolation between two of ``points`` in words."""
    place = next((number for number, (percent, _) in enumerate(points) if at <= percent), len(points) - 1)
    percent, score = points[place]
    if place == 0 or at >= percent:
        return score, f"the line has {score} there"
    before, low = points[place - 1]
    formula = f"{low} + ({score} − {low}) × ({at} − {before}) ÷ ({percent} − {before})"
    return low + truncate_divide((score - low) * (at - before), percent - before), formula


def explain_balanced_allocation(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation(f"Nodes are better whose CPU and memory would be given away alike. {DEFAULTS}")
    fractions = []
    for name, used, has, share_text in _requested_shares(context):
        fractions.append(used / has if has else 1.0)
        calculation.add_step(f"Share of {name}", share_text, f"{fractions[-1]:.4f}")
    cpu, memory = fractions
    if cpu >= 1 or memory >= 1:
        calculation.add_step("Score", "a share is 1 or more", 0)
        return calculation.with_score(0)
    # In floats and in Go's order, then cut to a whole number.
    score = int((1 - abs(cpu - memory)) * float(MAX_PRIORITY))
    calculation.add_step("Score", f"(1 − |{cpu:.4f} − {memory:.4f}|) × {MAX_PRIORITY}, cut to a whole number", score)
    return calculation.with_score(score)


def explain_resource_limits(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation(
        "Whether the node has as much CPU, or as much memory, as the pod is limited to; one is enough."
    )
    snapshot, enough = context.case.snapshot, False
    for name in (CPU, MEMORY):
        limit = asked_then(context.case.pod).limits.get(name, 0)
        has = int(snapshot.resource_row(snapshot.allocatable, name)[context.position])
        if not limit:
            calculation.add_step(name, "the pod has no limit", "not counted")
            continue
        calculation.add_step(
            name, f"limit {format_amount(limit, name)} of {format_amount(has, name)}", "yes" if has >= limit else "no"
        )
        enough = enough or has >= limit
    return calculation.with_score(int(enough))
