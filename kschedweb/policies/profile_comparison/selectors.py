"""Two profiles of a document side by side: what differs first, then all of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.policies.diff import PolicyChange, profile_changes
from kschedweb.policies.editing.arguments import iter_leaves

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration, Profile


@dataclass(frozen=True)
class ProfileLine:
    """One setting of two profiles."""

    # Extension point, plugin and argument, or field of the profile.
    where: str
    # The first profile's value; "" if it is absent.
    first: str
    second: str

    @property
    def is_same(self) -> bool:
        return self.first == self.second


@dataclass(frozen=True)
class ProfileComparison:
    """Two profiles side by side: the differences, then every extension point and argument."""

    first: str
    second: str
    # From the first profile to the second.
    changes: list[PolicyChange]
    # Lines that differ come first.
    lines: list[ProfileLine]


def compare_profiles_at(runs: Configuration | None, first: int, second: int | None) -> ProfileComparison | None:
    """Compare the profiles at two places of the document; ``None`` if one is missing, or the document is invalid."""
    if runs is None or second is None or first == second or max(first, second) >= len(runs.profiles):
        return None
    return compare_profiles(runs.profiles[first], runs.profiles[second])


def compare_profiles(first: Profile, second: Profile) -> ProfileComparison:
    """Compare ``second`` with ``first``. Lines that differ come first."""
    settings, second_settings = _describe_profile(first), _describe_profile(second)
    lines = [
        ProfileLine(setting, settings.get(setting, ""), second_settings.get(setting, ""))
        for setting in {**settings, **second_settings}
    ]
    lines.sort(key=lambda line: line.is_same)
    return ProfileComparison(
        first.scheduler_name, second.scheduler_name, list(profile_changes("", first, second)), lines
    )


def _describe_profile(profile: Profile) -> dict[str, str]:
    """Return the profile's settings as text, by name."""
    return {
        "percentageOfNodesToScore": _format_number(profile.percentage_of_nodes_to_score),
        **{point: _format_plugins(profile, point) for point in profile.points},
        **dict(sorted(_flatten_arguments(profile).items())),
    }


def _format_number(value: int | None) -> str:
    return "" if value is None else str(value)


def _format_plugins(profile: Profile, point: str) -> str:
    weighed = point == "score"
    return ", ".join(
        f"{plugin.name} ×{plugin.weight}" if weighed else plugin.name for plugin in profile.points.get(point, ())
    )


def _flatten_arguments(profile: Profile) -> dict[str, str]:
    return {
        f"{plugin} {path}": value
        for plugin, values in profile.args.items()
        for path, value in iter_leaves(values)
        if path not in ("kind", "apiVersion")
    }
