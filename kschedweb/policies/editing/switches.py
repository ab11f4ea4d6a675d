"""Switches and weights of plugins as entries of ``plugins`` in a profile's document.

All functions work on plain data that may be invalid in any way: values of an unexpected type count as absent. The merge
is kube-scheduler's (specification 3.3). It is repeated here so that a form can be shown for a document that the engine
refuses for another reason; a test compares the two.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.releases import CURRENT

Effective = dict[str, dict[str, int]]


@cache
def default_weights() -> dict[str, int]:
    """The default plugins in order, with their weights (0: none)."""
    return {reference.name: reference.weight for reference in CURRENT.registry.defaults}


def default_weight(name: str) -> int:
    """The default weight of ``name``."""
    return default_weights().get(name) or 1


@cache
def points_of(name: str) -> tuple[str, ...]:
    """The extension points that plugin ``name`` implements, in order; empty for an unknown plugin."""
    spec = CURRENT.registry.get(name)
    return tuple(point for point in EXTENSION_POINTS if spec and point in spec.points)


def effective(plugins: object) -> Effective:
    """The plugins at each extension point with their weights, after both stages of the merge."""
    common = _multi_point(plugins)
    result: Effective = {}
    for point in EXTENSION_POINTS:
        explicit = {entry["name"]: _weight(entry) for entry in entries(plugins, point, "enabled")}
        disabled = names(plugins, point, "disabled")
        inherited = {} if "*" in disabled else common
        result[point] = {
            name: weight
            for name, weight in inherited.items()
            if point in points_of(name) and name not in disabled and name not in explicit
        } | explicit
    return result


def with_plugin(plugins: object, name: str, points: frozenset[str], weight: int | None) -> dict[str, Any]:
    """A copy of ``plugins`` in which ``name`` runs at exactly ``points`` and, if it scores, has ``weight``.

    ``None`` is the default weight. Entries that equal the default are removed.
    """
    changed = _Plugins(plugins)
    changed.switch(name, points)
    if "score" in points:
        changed.weigh(name, default_weight(name) if weight is None else weight)
    return changed.value


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


def _multi_point(plugins: object) -> dict[str, int]:
    custom = {entry["name"]: _weight(entry) for entry in entries(plugins, "multiPoint", "enabled")}
    disabled = names(plugins, "multiPoint", "disabled")
    kept = {
        name: custom.get(name, weight or 1)
        for name, weight in default_weights().items()
        if "*" not in disabled and name not in disabled
    }
    return kept | custom


class _Plugins:
    """A working copy of ``plugins`` that removes empty lists and sets."""

    def __init__(self, plugins: object) -> None:
        self.value = deepcopy(as_dict(plugins))

    def runs(self, name: str, point: str) -> bool:
        return name in effective(self.value)[point]

    def switch(self, name: str, points: frozenset[str]) -> None:
        known = points_of(name)
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
        if name in _multi_point(self.value):
            self.add("multiPoint", "disabled", {"name": name})

    def weigh(self, name: str, weight: int) -> None:
        if effective(self.value)["score"].get(name) == weight:
            return
        for point in ("score", "multiPoint"):
            if name not in names(self.value, point, "enabled"):
                continue
            if weight == default_weight(name) and self._falls_back(name, point, weight):
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
        without = _Plugins(self.value)
        without.remove(point, "enabled", name)
        before, after = effective(self.value), effective(without.value)
        return after["score"].get(name) == weight and all(before[p].keys() == after[p].keys() for p in EXTENSION_POINTS)

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
