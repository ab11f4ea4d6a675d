"""The sides of a comparison: load-aware policies, their arguments, and the configuration that runs one alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.presenters import get_presenter
from kschedweb.engine.config import EMPTY
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, load
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.config.release import Release

Args = Mapping[str, Any]

DEFAULT_SCHEDULER = "default-scheduler"
REQUESTS = "NodeResourcesFit"


@dataclass(frozen=True)
class ScoringSide:
    """A scoring plugin with its arguments, as one of several that are compared."""

    # Its name in addresses.
    key: str
    plugin: str
    label: str
    description: str
    args: Args = field(default_factory=dict)
    # True for a plugin that scores by requests, and is shown for comparison.
    reference: bool = False
    release: Release = CURRENT

    @property
    def unknown(self) -> str:
        """Return what the plugin does with missing and old figures, in words."""
        return str(get_presenter(self.plugin).missing)

    def configuration_alone(self, scheduler: str = DEFAULT_SCHEDULER) -> Configuration:
        """Return a configuration with only this plugin. Raise Unprocessable for invalid arguments."""
        names = ["PrioritySort", "DefaultBinder", self.plugin]
        plugins = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in names]}}
        return self._build_configuration(scheduler, plugins)

    def scoring_configuration(self, scheduler: str = DEFAULT_SCHEDULER) -> Configuration:
        """Return the default configuration in which only this plugin scores. Raises as ``configuration_alone``."""
        points = self.release.registry.specs[self.plugin].points
        plugins: Json = {
            point: {"disabled": [{"name": "*"}], "enabled": [{"name": self.plugin}] if point in points else []}
            for point in ("preScore", "score")
        }
        return self._build_configuration(scheduler, {"multiPoint": {"enabled": [{"name": self.plugin}]}, **plugins})

    def _build_configuration(self, scheduler: str, plugins: Mapping[str, Any]) -> Configuration:
        config = [{"name": self.plugin, "args": dict(self.args)}] if self.args else []
        profile = {"schedulerName": scheduler, "plugins": plugins, "pluginConfig": config}
        return _load_document(json.dumps({**EMPTY, "profiles": [profile]}), self.release)


@lru_cache(maxsize=256)
def _load_document(document: str, release: Release) -> Configuration:
    loaded = load(document, release)
    if loaded.configuration is None:
        raise Unprocessable("; ".join(loaded.errors))
    return loaded.configuration


def list_load_aware_plugins(release: Release = CURRENT) -> list[str]:
    """Return the names of the load-aware plugins that score."""
    return [spec.name for spec in release.registry.specs.values() if spec.load_aware and "score" in spec.points]


def all_sides(configuration: Configuration | None = None, scheduler: str = DEFAULT_SCHEDULER) -> list[ScoringSide]:
    """Return every load-aware policy, with its arguments in ``configuration``, else its defaults.

    The arguments are those of the profile ``scheduler``, or of the first profile if there is none of that name.
    """
    configured, release = (
        arguments_of(configuration, scheduler),
        CURRENT if configuration is None else configuration.release,
    )
    specs = release.registry.specs
    sides = [
        ScoringSide(
            form.key, name, form.label, form.description, {**configured.get(name, {}), **form.args}, release=release
        )
        for name in list_load_aware_plugins(release)
        for form in get_presenter(name).list_variants(specs[name].help)
    ]
    description = f"{specs[REQUESTS].help} It scores by requests, not by use, and is here for comparison."
    label, args = f"{REQUESTS} (requests)", configured.get(REQUESTS, {})
    return [*sides, ScoringSide(REQUESTS, REQUESTS, label, description, args, reference=True, release=release)]


def own_side(configuration: Configuration, scheduler: str, plugin: str) -> ScoringSide:
    """Return ``plugin`` with its arguments in the profile ``scheduler``."""
    args = arguments_of(configuration, scheduler).get(plugin, {})
    release = configuration.release
    return ScoringSide(plugin, plugin, plugin, release.registry.specs[plugin].help, args, release=release)


def side_named(key: str, sides: list[ScoringSide]) -> ScoringSide | None:
    return next((side for side in sides if side.key == key), None)


def arguments_of(configuration: Configuration | None, scheduler: str = DEFAULT_SCHEDULER) -> dict[str, Args]:
    """Return the arguments of every plugin that a profile configures, as JSON values after defaults."""
    if configuration is None:
        return {}
    profiles = configuration.document["profiles"]
    chosen = next((item for item in profiles if item.get("schedulerName") == scheduler), profiles[0])
    listed = chosen.get("pluginConfig") or ()
    return {item["name"]: _without_kind(item.get("args") or {}) for item in listed}


def _without_kind(args: Args) -> Args:
    return {key: value for key, value in args.items() if key not in ("kind", "apiVersion")}
