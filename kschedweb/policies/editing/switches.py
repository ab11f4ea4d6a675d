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

from kschedweb.policies.editing.tables import MOST_KEPT, Tables, tables

Effective = dict[str, dict[str, int]]

WEIGHED = frozenset({"score", "placementScore"})
"""Extension points at which plugins have a weight."""


def effective(plugins: object, of: Tables | None = None) -> Effective:
    """The plugins at each extension point in calling order with their weights, after both stages of the merge.

    ``of`` are the tables of the release; ``None`` for the current one.
    """
    of = of or tables()
    common = _multi_point(plugins, of)
    result: Effective = {}
    for point in of.points:
        explicit = {entry["name"]: _weight(entry) for entry in entries(plugins, point, "enabled")}
        inherited = _inherited(plugins, point, common, of)
        first = {name: weight for name, weight in explicit.items() if name in inherited}
        result[point] = first | {name: common[name] for name in inherited if name not in explicit} | explicit
    return result


def _inherited(plugins: object, point: str, common: dict[str, int], of: Tables) -> list[str]:
    """What ``point`` takes over of ``common``, the plugins of multiPoint, in their order."""
    disabled = names(plugins, point, "disabled")
    if "*" in disabled:
        return []
    return [name for name in common if point in of.points_of(name) and name not in disabled]


def with_order(plugins: object, point: str, order: Sequence[str], of: Tables | None = None) -> dict[str, Any]:
    """A copy of ``plugins`` in which the plugins at ``point`` are called in ``order``, with the same weights.

    Only what has to be is written: plugins that an extension point names come before those that it takes over from
    multiPoint, or after them where multiPoint does not have them. Names in ``order`` that do not run are left out;
    plugins that are not in it keep their order behind it.
    """
    of = of or tables()
    changed = deepcopy(as_dict(plugins))
    now = effective(plugins, of)[point]
    wanted = [name for name in dict.fromkeys(order) if name in now]
    wanted += [name for name in now if name not in wanted]
    if wanted == list(now):
        return changed
    inherited = _inherited(plugins, point, _multi_point(plugins, of), of)
    own = [name for name in wanted if name not in inherited]
    taken = wanted[: len(wanted) - len(own)]
    group = changed[point] = as_dict(changed.get(point))
    if taken + own == wanted:
        listed = next(taken[:size] for size in range(len(taken) + 1) if _follows(taken[size:], inherited)) + own
    else:
        listed = wanted
        group["disabled"] = [{"name": "*"}]
    written = {entry["name"]: entry for entry in entries(plugins, point, "enabled")}
    weighs = point in WEIGHED
    group["enabled"] = [
        written.get(name) or {"name": name} | ({"weight": now[name]} if weighs and now[name] != 1 else {})
        for name in listed
    ]
    if not group["enabled"]:
        del group["enabled"]
    if not group:
        del changed[point]
    return changed


def _follows(names: list[str], order: list[str]) -> bool:
    """Whether ``names`` stand in the order in which ``order`` has them."""
    return [name for name in order if name in names] == names


def with_plugin(
    plugins: object, name: str, points: frozenset[str], weight: int | None, of: Tables | None = None
) -> dict[str, Any]:
    """A copy of ``plugins`` in which ``name`` runs at exactly ``points`` and, if it scores, has ``weight``.

    ``None`` is the default weight. Entries that equal the default are removed.
    """
    of = of or tables()
    changed = _Plugins(plugins, of)
    changed.switch(name, points)
    if "score" in points:
        changed.weigh(name, of.default_weight(name) if weight is None else weight)
    return changed.value


def without_plugin(plugins: object, name: str, of: Tables) -> dict[str, Any]:
    """A copy of ``plugins`` that does not name ``name``."""
    changed = _Plugins(plugins, of)
    for entry in named(plugins):
        if entry.name == name:
            changed.remove(entry.point, entry.key, name)
    return changed.value


@lru_cache(maxsize=MOST_KEPT)
def default_points(of: Tables) -> Effective:
    """The plugins at each extension point by default."""
    return effective({}, of)


class Entry(NamedTuple):
    """The entry at ``place`` of ``plugins.<point>.<key>``; ``weight`` as it is written, None where it is not."""

    name: str
    point: str
    key: str
    place: int
    weight: object


def named(plugins: object) -> list[Entry]:
    """Every well-formed entry of ``plugins``, also at extension points that the release does not have."""
    return [
        Entry(item["name"], str(point), key, index, item.get("weight"))
        for point, group in as_dict(plugins).items()
        for key in ("enabled", "disabled")
        for index, item in enumerate(as_list(as_dict(group).get(key)))
        if isinstance(item, dict) and isinstance(item.get("name"), str)
    ]


def entries(plugins: object, point: str, key: str) -> list[dict[str, Any]]:
    """The well-formed entries of ``plugins.<point>.<key>``."""
    found = as_dict(as_dict(plugins).get(point)).get(key)
    return [item for item in as_list(found) if isinstance(item, dict) and isinstance(item.get("name"), str)]


def names(plugins: object, point: str, key: str) -> set[str]:
    return {entry["name"] for entry in entries(plugins, point, key)}


def as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _weight(entry: dict[str, Any]) -> int:
    weight = entry.get("weight")
    return weight if isinstance(weight, int) and not isinstance(weight, bool) and weight else 1


def _multi_point(plugins: object, of: Tables) -> dict[str, int]:
    custom = {entry["name"]: _weight(entry) for entry in entries(plugins, "multiPoint", "enabled")}
    disabled = names(plugins, "multiPoint", "disabled")
    kept = {
        name: custom.get(name, weight or 1)
        for name, weight in of.default_weights.items()
        if "*" not in disabled and name not in disabled
    }
    return kept | custom


class _Plugins:
    """A working copy of ``plugins`` that removes empty lists and sets."""

    def __init__(self, plugins: object, of: Tables) -> None:
        self.value = deepcopy(as_dict(plugins))
        self.of = of

    def runs(self, name: str, point: str) -> bool:
        return name in effective(self.value, self.of)[point]

    def switch(self, name: str, points: frozenset[str]) -> None:
        known = self.of.points_of(name)
        wrong = [point for point in known if self.runs(name, point) != (point in points)]
        if not wrong:
            return
        if not points and len(known) > 1:
            self._switch_off(name, known)
        elif len(points) == len(known):
            self.remove("multiPoint", "disabled", name)
        for point in known:
            if self.runs(name, point) == (point in points):
                continue
            if point in points:
                self.remove(point, "disabled", name)
                if not self.runs(name, point):
                    self.add(point, "enabled", {"name": name})
            else:
                self.remove(point, "enabled", name)
                if self.runs(name, point):
                    self.add(point, "disabled", {"name": name})

    def _switch_off(self, name: str, known: tuple[str, ...]) -> None:
        for point in known:
            self.remove(point, "enabled", name)
            self.remove(point, "disabled", name)
        self.remove("multiPoint", "enabled", name)
        if name in _multi_point(self.value, self.of):
            self.add("multiPoint", "disabled", {"name": name})

    def weigh(self, name: str, weight: int) -> None:
        if effective(self.value, self.of)["score"].get(name) == weight:
            return
        for point in ("score", "multiPoint"):
            if name not in names(self.value, point, "enabled"):
                continue
            if weight == self.of.default_weight(name) and self._falls_back(name, point, weight):
                self.remove(point, "enabled", name)
            else:
                for entry in entries(self.value, point, "enabled"):
                    if entry["name"] == name:
                        entry["weight"] = weight
            return
        # An entry in multiPoint takes the place of the default one, and so keeps the order at every point.
        self.add("multiPoint", "enabled", {"name": name, "weight": weight})

    def _falls_back(self, name: str, point: str, weight: int) -> bool:
        """Whether removing the entry of ``name`` at ``point`` changes nothing else, and ``weight`` still holds."""
        without = _Plugins(self.value, self.of)
        without.remove(point, "enabled", name)
        before, after = (effective(plugins, self.of) for plugins in (self.value, without.value))
        return after["score"].get(name) == weight and all(before[p].keys() == after[p].keys() for p in self.of.points)

    def add(self, point: str, key: str, entry: dict[str, Any]) -> None:
        group = self.value[point] = as_dict(self.value.get(point))
        group[key] = [*as_list(group.get(key)), entry]

    def remove(self, point: str, key: str, name: str) -> None:
        group = as_dict(self.value.get(point))
        if name not in names(self.value, point, key):
            return
        group[key] = [item for item in group[key] if as_dict(item).get("name") != name]
        if not group[key]:
            del group[key]
        if not group:
            del self.value[point]
