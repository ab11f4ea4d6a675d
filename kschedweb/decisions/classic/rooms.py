"""The arithmetic of priorities about how full a node is, or would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.classic.worked import MOST, ScoreContext, Worked, cut, times
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.releases.classic.objects import asked as asked_then
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.engine.releases.classic.priorities.room import Point

FULL = 100  # percent
DEFAULTS = "Containers that do not say what they ask for count with 100 m of CPU and 200 MiB."


def _shares(asked: ScoreContext) -> list[tuple[str, int, int, str]]:
    """For CPU and memory: name, requested with the pod on the node, allocatable, and how these are computed."""
    snapshot, pod, found = asked.case.snapshot, asked.case.pod, []
    for row, name in enumerate((CPU, MEMORY)):
        there, own = int(snapshot.nonzero[row, asked.position]), pod.occupied_nonzero[row]
        has = int(snapshot.amounts(snapshot.allocatable, name)[asked.position])
        found.append((name, there + own, has, f"{amount(there, name)} + {amount(own, name)} of {amount(has, name)}"))
    return found


def _mean(asked: ScoreContext, about: str, one: Callable[[int, int], tuple[int, str]]) -> Worked:
    """The mean of ``one(requested, allocatable)`` for CPU and for memory."""
    worked, scores = Worked(f"{about} {DEFAULTS}"), []
    for name, used, has, shown in _shares(asked):
        score, formula = one(used, has)
        scores.append(score)
        worked.step(name, f"{shown}: {formula}", score)
    mean = cut(sum(scores), 2)
    worked.step("Mean", f"({scores[0]} + {scores[1]}) ÷ 2, cut to a whole number", mean)
    return worked.unreduced(mean)


def least(asked: ScoreContext) -> Worked:
    def one(used: int, has: int) -> tuple[int, str]:
        if not has or used > has:
            return 0, "there is none" if not has else "more than there is"
        return cut(times(has - used, MOST), has), f"({has} − {used}) × {MOST} ÷ {has}"

    return _mean(asked, "What would be left of the node with the pod on it; more is better.", one)


def most(asked: ScoreContext) -> Worked:
    def one(used: int, has: int) -> tuple[int, str]:
        if not has or used > has:
            return 0, "there is none" if not has else "more than there is"
        return cut(times(used, MOST), has), f"{used} × {MOST} ÷ {has}"

    return _mean(asked, "What would be given away of the node with the pod on it; more is better.", one)


def ratio(asked: ScoreContext) -> Worked:
    points: list[Point] = asked.plugin.points

    def one(used: int, has: int) -> tuple[int, str]:
        if not has or used > has:
            percent, share = FULL, f"{FULL} %: {'there is none' if not has else 'more than there is'}"
        else:
            percent = FULL - cut(times(has - used, FULL), has)
            share = f"{FULL} − ({has} − {used}) × {FULL} ÷ {has} = {percent} %"
        score, line = _on_line(points, min(max(percent, 0), FULL))
        return score, f"{share}; {line}"

    shape = ", ".join(f"{percent} % → {score}" for percent, score in points)
    return _mean(asked, f"The score that the line {shape} has where the node would be used so far.", one)


def _on_line(points: list[Point], at: int) -> tuple[int, str]:
    """The score at ``at`` percent, and the interpolation between two of ``points`` in words."""
    place = next((number for number, (percent, _) in enumerate(points) if at <= percent), len(points) - 1)
    percent, score = points[place]
    if place == 0 or at >= percent:
        return score, f"the line has {score} there"
    before, low = points[place - 1]
    formula = f"{low} + ({score} − {low}) × ({at} − {before}) ÷ ({percent} − {before})"
    return low + cut((score - low) * (at - before), percent - before), formula


def balanced(asked: ScoreContext) -> Worked:
    worked = Worked(f"Nodes are better whose CPU and memory would be given away alike. {DEFAULTS}")
    fractions = []
    for name, used, has, shown in _shares(asked):
        fractions.append(used / has if has else 1.0)
        worked.step(f"Share of {name}", shown, f"{fractions[-1]:.4f}")
    cpu, memory = fractions
    if cpu >= 1 or memory >= 1:
        worked.step("Score", "a share is 1 or more", 0)
        return worked.unreduced(0)
    score = int((1 - abs(cpu - memory)) * float(MOST))
    worked.step("Score", f"(1 − |{cpu:.4f} − {memory:.4f}|) × {MOST}, cut to a whole number", score)
    return worked.unreduced(score)


def limits(asked: ScoreContext) -> Worked:
    worked = Worked("Whether the node has as much CPU, or as much memory, as the pod is limited to; one is enough.")
    snapshot, enough = asked.case.snapshot, False
    for name in (CPU, MEMORY):
        limit = asked_then(asked.case.pod).limits.get(name, 0)
        has = int(snapshot.amounts(snapshot.allocatable, name)[asked.position])
        if not limit:
            worked.step(name, "the pod has no limit", "not counted")
            continue
        worked.step(name, f"limit {amount(limit, name)} of {amount(has, name)}", "yes" if has >= limit else "no")
        enough = enough or has >= limit
    return worked.unreduced(int(enough))
