"""Switches and weights of plugins as entries of ``plugins`` in a profile's document.

All functions work on plain data that may be invalid in any way: values of an unexpected type count as absent. The merge
is kube-scheduler's (specification 3.3). It is repeated here so that a form can be shown for a document that the engine
refuses for another reason; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.policies.editing.release_tables import CACHE_SIZE, Tables, load_tables

# By extension point, the plugins in calling order with their weights.
Effective = dict[str, dict[str, int]]

WEIGHED = frozenset({"score", "placementScore"})
"""Extension points at which plugins have a weight."""


def merge_plugins(plugins: object, tables: Tables | None = None) -> Effective:
    """Return the plugins at each extension point in calling order with weights, after both stages of the merge.

    ``tables`` are the tables of the release; ``None`` for the current one.
    """
    tables = tables or load_tables()
    common = _multi_point(plugins, tables)
    result: Effective = {}
    for point in tables.points:
        explicit = {entry["name"]: _entry_weight(entry) for entry in point_entries(plugins, point, "enabled")}
        inherited = _inherited_plugins(plugins, point, common, tables)
        first = {name: weight for name, weight in explicit.items() if name in inherited}
        # The order of `expandMultiPointPlugins`: overridden plugins, the rest of multiPoint, further ones of the point.
        result[point] = first | {name: common[name] for name in inherited if name not in explicit} | explicit
    return result


def _inherited_plugins(plugins: object, point: str, common: dict[str, int], tables: Tables) -> list[str]:
    """Return the plugins of ``common`` (those of multiPoint) that ``point`` takes over, in their order."""
    disabled = entry_names(plugins, point, "disabled")
    if "*" in disabled:
        return []
    off = {*disabled, *tables.release.list_disabled_by_default(point)}
    return [name for name in common if point in tables.points_of(name) and name not in off]


def with_order(plugins: object, point: str, order: Sequence[str], tables: Tables | None = None) -> Json:
    """Return a copy of ``plugins`` in which the plugins at ``point`` are called in ``order``, with the same weights.

    As little as possible is written: plugins that an extension point names come before those that it takes over from
    multiPoint, or after them if multiPoint does not have them. Names in ``order`` that do not run are left out; plugins
    that are not in it keep their order behind it.
    """
    tables = tables or load_tables()
    changed = deepcopy(as_dict(plugins))
    now = merge_plugins(plugins, tables)[point]
    ordered = [name for name in dict.fromkeys(order) if name in now]
    ordered += [name for name in now if name not in ordered]
    if ordered == list(now):
        return changed
    inherited = _inherited_plugins(plugins, point, _multi_point(plugins, tables), tables)
    explicit = [name for name in ordered if name not in inherited]
    inherited_order = ordered[: len(ordered) - len(explicit)]
    group = changed[point] = as_dict(changed.get(point))
    if inherited_order + explicit == ordered:
        # The shortest prefix to write out: the others then follow in the order of multiPoint by themselves.
        listed = (
            next(
                inherited_order[:size]
                for size in range(len(inherited_order) + 1)
                if _keeps_order(inherited_order[size:], inherited)
            )
            + explicit
        )
    else:
        # The order cannot be reached by naming some first, so multiPoint is switched off here and all are named.
        listed = ordered
        group["disabled"] = [{"name": "*"}]
    present = {entry["name"]: entry for entry in point_entries(plugins, point, "enabled")}
    weighs = point in WEIGHED
    group["enabled"] = [
        present.get(name) or {"name": name} | ({"weight": now[name]} if weighs and now[name] != 1 else {})
        for name in listed
    ]
    if not group["enabled"]:
        del group["enabled"]
    if not group:
        del changed[point]
    return changed


def _keeps_order(names: list[str], order: list[str]) -> bool:
    """Return whether ``names`` stand in the order in which ``order`` has them."""
    return [name for name in order if name in names] == names


def with_plugin(
    plugins: object, name: str, points: frozenset[str], weight: int | None, tables: Tables | None = None
) -> Json:
    """Return a copy of ``plugins`` in which ``name`` runs at exactly ``points`` and, if it scores, has ``weight``.

    ``None`` is the default weight. Entries that equal the default are removed.
    """
    tables = tables or load_tables()
    changed = _Plugins(plugins, tables)
    changed.switch_points(name, points)
    if "score" in points:
        changed.set_weight(name, tables.default_weight(name) if weight is None else weight)
    return changed.value


def without_plugin(plugins: object, name: str, tables: Tables) -> Json:
    """Return a copy of ``plugins`` that does not name ``name``."""
    changed = _Plugins(plugins, tables)
    for entry in list_entries(plugins):
        if entry.name == name:
            changed.remove_entry(entry.point, entry.key, name)
    return changed.value


@lru_cache(maxsize=CACHE_SIZE)
def default_points(tables: Tables) -> Effective:
    """Return the plugins at each extension point by default."""
    return merge_plugins({}, tables)


class Entry(NamedTuple):
    """The entry at ``place`` of ``plugins.<point>.<key>``."""

    name: str
    point: str
    key: str
    place: int
    # The weight as it is written; None if there is none.
    weight: object


def list_entries(plugins: object) -> list[Entry]:
    """Return every well-formed entry of ``plugins``, even at extension points that the release does not have."""
    return [
        Entry(item["name"], str(point), key, index, item.get("weight"))
        for point, group in as_dict(plugins).items()
        for key in ("enabled", "disabled")
        for index, item in enumerate(as_list(as_dict(group).get(key)))
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    ]


def point_entries(plugins: object, point: str, key: str) -> list[Json]:
    """Return the well-formed entries of ``plugins.<point>.<key>``."""
    listed = as_dict(as_dict(plugins).get(point)).get(key)
    return [item for item in as_list(listed) if isinstance(item, dict) and isinstance(item.get("name"), str)]


def entry_names(plugins: object, point: str, key: str) -> set[str]:
    return {entry["name"] for entry in point_entries(plugins, point, key)}


def as_dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _entry_weight(entry: Json) -> int:
    weight = entry.get("weight")
    # kube-scheduler treats 0 and an absent weight as 1. A bool is an int in Python, but not in YAML.
    return weight if isinstance(weight, int) and not isinstance(weight, bool) and weight else 1


def _multi_point(plugins: object, tables: Tables) -> dict[str, int]:
    custom = {entry["name"]: _entry_weight(entry) for entry in point_entries(plugins, "multiPoint", "enabled")}
    disabled = entry_names(plugins, "multiPoint", "disabled")
    defaults = {
        name: custom.get(name, weight or 1)
        for name, weight in tables.default_weights.items()
        if "*" not in disabled and name not in disabled
    }
    return defaults | custom


class _Plugins:
    """A working copy of ``plugins`` that removes lists and sets that become empty."""

    def __init__(self, plugins: object, tables: Tables) -> None:
        self.value = deepcopy(as_dict(plugins))
        self.tables = tables

    def runs_at(self, name: str, point: str) -> bool:
        return name in merge_plugins(self.value, self.tables)[point]

    def switch_points(self, name: str, points: frozenset[str]) -> None:
        known_points = self.tables.points_of(name)
        wrong = [point for point in known_points if self.runs_at(name, point) != (point in points)]
        if not wrong:
            return
        # Off everywhere is one entry at multiPoint instead of one at each point.
        if not points and len(known_points) > 1:
            self._switch_off(name, known_points)
        elif len(points) == len(known_points):
            self.remove_entry("multiPoint", "disabled", name)
        for point in known_points:
            if self.runs_at(name, point) == (point in points):
                continue
            if point in points:
                self.remove_entry(point, "disabled", name)
                if not self.runs_at(name, point):
                    self.add_entry(point, "enabled", {"name": name})
            else:
                self.remove_entry(point, "enabled", name)
                if self.runs_at(name, point):
                    self.add_entry(point, "disabled", {"name": name})

    def _switch_off(self, name: str, points: tuple[str, ...]) -> None:
        for point in points:
            self.remove_entry(point, "enabled", name)
            self.remove_entry(point, "disabled", name)
        self.remove_entry("multiPoint", "enabled", name)
        if name in _multi_point(self.value, self.tables):
            self.add_entry("multiPoint", "disabled", {"name": name})

    def set_weight(self, name: str, weight: int) -> None:
        if merge_plugins(self.value, self.tables)["score"].get(name) == weight:
            return
        for point in ("score", "multiPoint"):
            if name not in entry_names(self.value, point, "enabled"):
                continue
            if weight == self.tables.default_weight(name) and self._falls_back(name, point, weight):
                self.remove_entry(point, "enabled", name)
            else:
                for entry in point_entries(self.value, point, "enabled"):
                    if entry["name"] == name:
                        entry["weight"] = weight
            return
        # An entry in multiPoint takes the place of the default one, and so keeps the order at every point.
        self.add_entry("multiPoint", "enabled", {"name": name, "weight": weight})

    def _falls_back(self, name: str, point: str, weight: int) -> bool:
        """Return whether removing the entry of ``name`` at ``point`` keeps ``weight`` and every other plugin's
        place.
        """
        reduced = _Plugins(self.value, self.tables)
        reduced.remove_entry(point, "enabled", name)
        before, after = (merge_plugins(plugins, self.tables) for plugins in (self.value, reduced.value))
        return after["score"].get(name) == weight and all(
            before[p].keys() == after[p].keys() for p in self.tables.points
        )

    def add_entry(self, point: str, key: str, entry: Json) -> None:
        group = self.value[point] = as_dict(self.value.get(point))
        group[key] = [*as_list(group.get(key)), entry]

    def remove_entry(self, point: str, key: str, name: str) -> None:
        group = as_dict(self.value.get(point))
        if name not in entry_names(self.value, point, key):
            return
        group[key] = [item for item in group[key] if as_dict(item).get("name") != name]
        if not group[key]:
            del group[key]
        if not group:
            del self.value[point]
