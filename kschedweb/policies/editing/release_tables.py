"""The plugins, extension points and fields that the form offers for one release of kube-scheduler, with defaults."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from kschedweb.engine.config import EMPTY, Release
from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, get_release, json_schema, load

# A JSON Schema or a part of one.
Schema = Json

# Releases times sets of feature gates in use; each takes a whole JSON Schema in memory.
CACHE_SIZE = 32


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of ``release`` with its feature gates. Their schemas have no references: definitions stand in
    place.
    """

    release: Release

    @cached_property
    def points(self) -> tuple[str, ...]:
        """The extension points that a document may name; those for groups of pods come last."""
        return (*EXTENSION_POINTS, *self.release.schema.group_points)

    @cached_property
    def default_weights(self) -> dict[str, int]:
        """The default plugins in order, with their weights (0: none)."""
        return {reference.name: reference.weight for reference in self.release.registry.defaults}

    @cached_property
    def plugins(self) -> tuple[str, ...]:
        """Every plugin with a row: the default set in its order, then the others."""
        names = dict.fromkeys([*self.default_weights, *self.release.registry.specs])
        return tuple(name for name in names if self.points_of(name))

    @cached_property
    def default_arguments(self) -> Json:
        """The default arguments of each plugin."""
        specs = self.release.registry.specs.items()
        # The engine fills in arguments only of plugins that run, so the others are switched on for once.
        additional = [{"name": name} for name, spec in specs if spec.args and name not in self.default_weights]
        document = {**EMPTY, "profiles": [{"plugins": {"multiPoint": {"enabled": additional}}}]}
        defaulted = load(document, self.release).defaulted
        assert defaulted is not None, f"{self.release.title} refuses its own plugins"
        return {item["name"]: item["args"] for item in defaulted["profiles"][0]["pluginConfig"]}

    @cached_property
    def schema(self) -> Schema:
        """The schema of the whole document."""
        whole = json_schema(self.release)
        schema: Schema = _in_place(whole, whole.get("$defs", {}))
        return schema

    def default_weight(self, name: str) -> int:
        """Return the default weight of ``name``."""
        return self.default_weights.get(name) or 1

    def points_of(self, name: str) -> tuple[str, ...]:
        """Return the extension points that plugin ``name`` implements, in order; empty for an unknown plugin."""
        spec = self.release.registry.get(name)
        return tuple(point for point in self.points if spec and point in spec.points)

    def args_schema(self, plugin: str) -> Schema | None:
        """Return the schema of a plugin's arguments; ``None`` if it has none."""
        schema = self.schema["$defs"].get(f"{plugin}Args")
        return schema if isinstance(schema, dict) else None

    def properties_of(self, definition: str) -> Schema:
        """Return the fields of ``definition``, such as KubeSchedulerProfile."""
        schema = self.schema if definition == "KubeSchedulerConfiguration" else self.schema["$defs"][definition]
        properties: Schema = schema["properties"]
        return properties


def load_tables(release: Release = CURRENT) -> Tables:
    """Return the tables of ``release``. They are made once for each release and set of feature gates."""
    return _cached_tables(release.name, tuple(sorted(release.switched.items())))


@lru_cache(maxsize=CACHE_SIZE)
def _cached_tables(name: str, switched: tuple[tuple[str, bool], ...]) -> Tables:
    return Tables(get_release(name, dict(switched)))


def _in_place(schema: Any, definitions: Schema) -> Any:
    """Return ``schema`` with each reference replaced by its definition. Keys beside a reference take precedence."""
    if isinstance(schema, list):
        return [_in_place(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    below = {key: _in_place(item, definitions) for key, item in schema.items() if key != "$ref"}
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return below
    return {**_in_place(definitions[reference.removeprefix("#/$defs/")], definitions), **below}
