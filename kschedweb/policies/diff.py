"""Differences in behaviour between two policies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration, Loaded, Profile
    from kschedweb.engine.config.specs import PluginRef


# The subject of a change that only reorders the same plugins.
ORDER = "order"


@dataclass(frozen=True)
class PolicyChange:
    """One difference in behaviour."""

    # Profile, extension point or field; "" for the whole document.
    location: str
    # The plugin, argument or field that differs.
    subject: str
    # Empty if it was absent.
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.before or 'absent'} → {self.after or 'absent'}"


def list_changes(old: Loaded | None, new: Loaded | None) -> list[PolicyChange]:
    """Return the differences in behaviour from ``old`` to ``new``; empty if one of them is invalid."""
    if old is None or new is None or old.configuration is None or new.configuration is None:
        return []
    changes = leaf_changes(_top_level_fields(old.configuration.document), _top_level_fields(new.configuration.document))
    return [*changes, *_profile_changes(old.configuration, new.configuration)]


def leaf_changes(old: Json, new: Json) -> list[PolicyChange]:
    """Return the leaves at which the two differ."""
    return [
        PolicyChange("", path, _format_value(before), _format_value(after))
        for path, before, after in _differing_leaves(old, new)
    ]


def _top_level_fields(defaulted: Json) -> Json:
    return {key: value for key, value in defaulted.items() if key != "profiles"}


def _profile_changes(old: Configuration, new: Configuration) -> Iterator[PolicyChange]:
    before = {profile.scheduler_name: profile for profile in old.profiles}
    after = {profile.scheduler_name: profile for profile in new.profiles}
    for name in before.keys() - after.keys():
        yield PolicyChange(name, "profile", name, "")
    for name, profile in after.items():
        former = before.get(name)
        if former is None:
            yield PolicyChange(name, "profile", "", name)
            continue
        yield from profile_changes(name, former, profile)


def profile_changes(name: str, former: Profile, profile: Profile) -> Iterator[PolicyChange]:
    """List what ``profile`` does differently from ``former``. ``name`` is the place that each difference names."""
    if former.percentage_of_nodes_to_score != profile.percentage_of_nodes_to_score:
        before, after = former.percentage_of_nodes_to_score, profile.percentage_of_nodes_to_score
        yield PolicyChange(name, "percentageOfNodesToScore", _format_value(before), _format_value(after))
    yield from _plugin_changes(name, former, profile)
    # Arguments of a plugin that is added or removed are not listed separately.
    for plugin in sorted(former.args.keys() & profile.args.keys()):
        for path, was, now in _differing_leaves(former.args[plugin], profile.args[plugin]):
            subject = plugin if path in _TELLING else f"{plugin} {path}"
            yield PolicyChange(name, subject, _format_value(was), _format_value(now))


# The values of these fields explain themselves, so the field is not named.
_TELLING = frozenset({"scoringStrategy.type"})


def _plugin_changes(name: str, old: Profile, new: Profile) -> Iterator[PolicyChange]:
    """List the changes of plugins, weights and order. Equal changes at several extension points are merged."""
    points: dict[tuple[str, str, str], list[str]] = {}
    for point in new.points:
        for change in _point_changes(old.points[point], new.points[point], point):
            points.setdefault(change, []).append(point)
    for (subject, before, after), change_points in points.items():
        yield PolicyChange(" · ".join(filter(None, [name, ", ".join(change_points)])), subject, before, after)


def _point_changes(
    old: tuple[PluginRef, ...], new: tuple[PluginRef, ...], point: str
) -> Iterator[tuple[str, str, str]]:
    before = {reference.name: reference.weight for reference in old}
    after = {reference.name: reference.weight for reference in new}
    for name in [*after, *(name for name in before if name not in after)]:
        if name not in before or name not in after:
            yield name, "on" if name in before else "off", "on" if name in after else "off"
        elif point == "score" and before[name] != after[name]:
            yield f"{name} weight", str(before[name]), str(after[name])
    # Additions and removals are listed above; only a new order of the plugins that stay is a change of order.
    kept_before = [name for name in before if name in after]
    kept_after = [name for name in after if name in before]
    if kept_before != kept_after:
        yield ORDER, ", ".join(kept_before), ", ".join(kept_after)


def _differing_leaves(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """List the paths at which the two differ, down to values that are not objects on both sides."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(key for key in old if key not in new)]:
            yield from _differing_leaves(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    # Python says True == 1, but YAML's true and 1 are different values.
    elif isinstance(old, bool) != isinstance(new, bool) or old != new:
        yield path, old, new


def _format_value(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
