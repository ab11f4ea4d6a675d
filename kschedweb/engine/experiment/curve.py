"""The curve of skew against moves an hour, as SVG: what `run … --moves-an-hour` wrote of several recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from statistics import mean
from typing import Any

from kschedweb.engine.experiment.policies import DEFAULT
from kschedweb.engine.values import dataclass

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 48, 56
TARGET = 0.30  # of the default profile's skew
STEP = 0.1  # between lines across
COLOURS = ("#1f6feb", "#bc4c00", "#1a7f37", "#8250df")


Place = Callable[[float], float]


class CurveError(ValueError):
    """A file of which no curve can be drawn; says why."""


@dataclass(frozen=True, slots=True)
class Curve:
    """``points`` are (percent moved an hour, mean skew of all seeds in parts of the default's, of each seed)."""

    name: str
    points: tuple[tuple[float, float, tuple[float, ...]], ...]

    @classmethod
    def read(cls, name: str, answer: Any) -> Curve:
        """Of what a run answered; raises CurveError."""
        try:
            runs: Sequence[Mapping[str, Any]] = answer["runs"]
            base = {one["seed"]: float(one["skew"]) for one in runs if one["policy"] == DEFAULT}
            moved = [one for one in runs if "movesAnHour" in one]
            points = []
            for percent in sorted({float(one["movesAnHour"]) for one in moved}):
                skews = {one["seed"]: float(one["skew"]) for one in moved if one["movesAnHour"] == percent}
                each = tuple(skew / base[seed] for seed, skew in skews.items())
                points.append((percent, mean(skews.values()) / mean(base[seed] for seed in skews), each))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise CurveError(
                f"{name}: is not what a run with moves and the default profile wrote ({error!r})"
            ) from None
        if not points:
            raise CurveError(f"{name}: there is no run with moves: run with --moves-an-hour")
        return cls(name, tuple(points))


def drawn(curves: Sequence[Curve]) -> str:
    """The curves in one figure: a line for the means, a dot for each seed. Shares of moves stand evenly apart."""
    percents = sorted({percent for curve in curves for percent, _, _ in curve.points})
    highest = max(value for curve in curves for _, middle, each in curve.points for value in (middle, *each))
    top = STEP * (int(highest / STEP) + 1)

    def x(percent: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * percents.index(percent) / max(1, len(percents) - 1)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        "<title>Skew against moves an hour</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for number in range(round(top / STEP) + 1):
        at = y(number * STEP)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{number * STEP:.1f}</text>')
    for percent in percents:
        at = x(percent)
        lines.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{percent:g} %</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(
        f'<text x="{middle:.1f}" y="{HEIGHT - 12}" text-anchor="middle">running pods moved an hour at most</text>'
    )
    lines.append(f'<text x="{LEFT - 8}" y="20">mean skew in parts of the default profile\'s</text>')
    at = y(TARGET)
    lines.append(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#57606a" stroke-dasharray="6 4"/>'
    )
    for place, curve in enumerate(curves):
        lines += _curve(curve, COLOURS[place % len(COLOURS)], place, x, y)
    return "\n".join([*lines, "</svg>", ""])


def _curve(curve: Curve, colour: str, place: int, x: Place, y: Place) -> Iterator[str]:
    path = " ".join(f"{x(percent):.1f},{y(value):.1f}" for percent, value, _ in curve.points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for percent, _, each in curve.points:
        for value in each:
            yield f'<circle cx="{x(percent):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}" fill-opacity="0.5"/>'
    at, height = WIDTH - RIGHT - 130, TOP + 18 * place
    yield f'<line x1="{at}" x2="{at + 24}" y1="{height}" y2="{height}" stroke="{colour}" stroke-width="2"/>'
    yield f'<text x="{at + 32}" y="{height + 4}">{escape(curve.name)}</text>'
