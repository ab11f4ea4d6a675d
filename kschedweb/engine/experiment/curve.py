"""Draw the skew against moves an hour as SVG, from what `run … --moves-an-hour` wrote for several recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from statistics import mean
from typing import Any

from kschedweb.engine.experiment.policies import DEFAULT
from kschedweb.engine.values import dataclass

# Pixels.
WIDTH, HEIGHT = 760, 420
MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 64, 24, 48, 56
# Share of the default profile's skew that the experiment aims at.
TARGET = 0.30
# Distance of grid lines.
STEP = 0.1
COLOURS = ("#1f6feb", "#bc4c00", "#1a7f37", "#8250df")


# Converts a value to pixels.
ToPixels = Callable[[float], float]


class CurveError(ValueError):
    """A file from which no curve can be drawn; the message says why."""


@dataclass(frozen=True, slots=True)
class SkewCurve:
    """The curve of one recording."""

    name: str
    # Percent of running pods moved an hour, mean skew of all seeds in parts of the default's, and that of each seed.
    points: tuple[tuple[float, float, tuple[float, ...]], ...]

    @classmethod
    def from_answer(cls, name: str, answer: Any) -> SkewCurve:
        """Return the curve of a run's answer; raise CurveError."""
        try:
            runs: Sequence[Mapping[str, Any]] = answer["runs"]
            base = {run["seed"]: float(run["skew"]) for run in runs if run["policy"] == DEFAULT}
            moved = [run for run in runs if "movesAnHour" in run]
            points = []
            for percent in sorted({float(run["movesAnHour"]) for run in moved}):
                skews = {run["seed"]: float(run["skew"]) for run in moved if run["movesAnHour"] == percent}
                ratios = tuple(skew / base[seed] for seed, skew in skews.items())
                points.append((percent, mean(skews.values()) / mean(base[seed] for seed in skews), ratios))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise CurveError(
                f"{name}: is not what a run with moves and the default profile wrote ({error!r})"
            ) from None
        if not points:
            raise CurveError(f"{name}: there is no run with moves: run with --moves-an-hour")
        return cls(name, tuple(points))


def render_curves(curves: Sequence[SkewCurve]) -> str:
    """Draw the curves in one figure: a line for means, a dot for each seed. Shares of moves have equal distances."""
    percents = sorted({percent for curve in curves for percent, _, _ in curve.points})
    highest = max(value for curve in curves for _, middle, ratios in curve.points for value in (middle, *ratios))
    top = STEP * (int(highest / STEP) + 1)

    def to_x(percent: float) -> float:
        return MARGIN_LEFT + (WIDTH - MARGIN_LEFT - MARGIN_RIGHT) * percents.index(percent) / max(1, len(percents) - 1)

    def to_y(value: float) -> float:
        return HEIGHT - MARGIN_BOTTOM - (HEIGHT - MARGIN_TOP - MARGIN_BOTTOM) * value / top

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        "<title>Skew against moves an hour</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for number in range(round(top / STEP) + 1):
        y = to_y(number * STEP)
        lines.append(
            f'<line x1="{MARGIN_LEFT}" x2="{WIDTH - MARGIN_RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
        )
        lines.append(f'<text x="{MARGIN_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * STEP:.1f}</text>')
    for percent in percents:
        x = to_x(percent)
        lines.append(f'<text x="{x:.1f}" y="{HEIGHT - MARGIN_BOTTOM + 20}" text-anchor="middle">{percent:g} %</text>')
    middle = (MARGIN_LEFT + WIDTH - MARGIN_RIGHT) / 2
    lines.append(
        f'<text x="{middle:.1f}" y="{HEIGHT - 12}" text-anchor="middle">running pods moved an hour at most</text>'
    )
    lines.append(f'<text x="{MARGIN_LEFT - 8}" y="20">mean skew in parts of the default profile\'s</text>')
    target_y = to_y(TARGET)
    lines.append(
        f'<line x1="{MARGIN_LEFT}" x2="{WIDTH - MARGIN_RIGHT}" y1="{target_y:.1f}" y2="{target_y:.1f}"'
        ' stroke="#57606a" stroke-dasharray="6 4"/>'
    )
    for place, curve in enumerate(curves):
        lines += _render_curve(curve, COLOURS[place % len(COLOURS)], place, to_x, to_y)
    return "\n".join([*lines, "</svg>", ""])


def _render_curve(curve: SkewCurve, colour: str, place: int, to_x: ToPixels, to_y: ToPixels) -> Iterator[str]:
    path = " ".join(f"{to_x(percent):.1f},{to_y(value):.1f}" for percent, value, _ in curve.points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for percent, _, ratios in curve.points:
        for value in ratios:
            yield f'<circle cx="{to_x(percent):.1f}" cy="{to_y(value):.1f}" r="3" fill="{colour}" fill-opacity="0.5"/>'
    legend_x, legend_y = WIDTH - MARGIN_RIGHT - 130, MARGIN_TOP + 18 * place
    ends = f'x1="{legend_x}" x2="{legend_x + 24}" y1="{legend_y}" y2="{legend_y}"'
    yield f'<line {ends} stroke="{colour}" stroke-width="2"/>'
    yield f'<text x="{legend_x + 32}" y="{legend_y + 4}">{escape(curve.name)}</text>'
