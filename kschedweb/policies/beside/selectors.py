"""Two profiles of a document side by side: what differs first, then all of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.policies.diff import PolicyChange, profile_changes
from kschedweb.policies.editing.arguments import leaves

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration, Profile


@dataclass(frozen=True)
class Line:
    """What one profile says at ``where`` beside the other."""

    where: str
    first: str
    second: str

    @property
    def is_same(self) -> bool:
        return self.first == self.second


@dataclass(frozen=True)
class Beside:
    """Profile ``second`` beside ``first``: the differences, then every extension point and argument."""

    first: str
    second: str
    changes: list[PolicyChange]
    lines: list[Line]


def beside(runs: Configuration | None, first: int, second: int | None) -> Beside | None:
    """The profiles at two places of the document; ``None`` where one is not there, or the document is invalid."""
    if runs is None or second is None or first == second or max(first, second) >= len(runs.profiles):
        return None
    return compared(runs.profiles[first], runs.profiles[second])


def compared(one: Profile, other: Profile) -> Beside:
    """``other`` beside ``one``; lines that differ come first."""
    said, said_beside = _said(one), _said(other)
    lines = [Line(where, said.get(where, ""), said_beside.get(where, "")) for where in {**said, **said_beside}]
    lines.sort(key=lambda line: line.is_same)
    return Beside(one.scheduler_name, other.scheduler_name, list(profile_changes("", one, other)), lines)


def _said(profile: Profile) -> dict[str, str]:
    """What a profile says, by setting."""
    return {
        "percentageOfNodesToScore": _text(profile.percentage_of_nodes_to_score),
        **{point: _plugins(profile, point) for point in profile.points},
        **dict(sorted(_arguments(profile).items())),
    }


def _text(value: int | None) -> str:
    return "" if value is None else str(value)


def _plugins(profile: Profile, point: str) -> str:
    weighed = point == "score"
    return ", ".join(f"{one.name} ×{one.weight}" if weighed else one.name for one in profile.points.get(point, ()))


def _arguments(profile: Profile) -> dict[str, str]:
    return {
        f"{plugin} {path}": value
        for plugin, values in profile.args.items()
        for path, value in leaves(values)
        if path not in ("kind", "apiVersion")
    }
