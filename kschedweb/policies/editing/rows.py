"""Plugins as rows of the form: switches, weights and arguments from a profile's document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from kschedweb.engine.documents.marked import MarkedProblem, Path, as_yaml
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field
from kschedweb.policies.editing.helping import helped
from kschedweb.policies.editing.switches import Effective, as_dict, as_list, default_points, named
from kschedweb.policies.editing.tables import Tables


@dataclass
class Switch:
    point: str
    name: str
    on: bool
    by_default: bool


@dataclass
class PluginRow:
    """One plugin: a switch for each extension point it implements, its weight, its arguments."""

    name: str
    help: str
    switches: list[Switch]
    weight: Field | None
    arguments: Field | None
    problems: list[MarkedProblem] = field(default_factory=list)
    panel: object = None  # the score curves of a load-aware plugin (curves.py)
    written: list[str] = field(default_factory=list)  # what is said of a plugin that the release does not have
    paths: list[Path] = field(default_factory=list)  # where that is said
    shown: bool = True  # sections.Showing

    @property
    def text(self) -> str:
        return "\n".join(self.written)

    @property
    def is_changed(self) -> bool:
        """Whether the document differs from the default for this plugin."""
        fields = self.arguments.walk() if self.arguments else []
        return (
            bool(self.paths)
            or any(switch.on != switch.by_default for switch in self.switches)
            or bool(self.weight and self.weight.value)
            or any(item.value for item in fields)
        )

    @property
    def differs(self) -> bool:
        """Whether the plugin does otherwise than by default; a default that is written out makes no difference."""
        return (
            bool(self.paths)
            or any(switch.on != switch.by_default for switch in self.switches)
            or bool(self.weight and self.weight.differs)
            or bool(self.arguments and self.arguments.differs)
        )

    @property
    def searched(self) -> str:
        """The text in which a plugin is looked for."""
        return f"{self.name} {self.help}".lower()

    def is_told(self, problem: MarkedProblem) -> bool:
        """Whether ``problem`` is of this plugin, which the release does not have."""
        # What kube-scheduler counts are the plugins after defaulting: its place may be none in the document.
        same = f'"{self.name}"' in problem.message
        return any(
            (same and problem.keys[:2] == path[:2])
            or (len(problem.keys) > 3 and problem.keys == path[: len(problem.keys)])
            for path in self.paths
        )

    @property
    def has_problems(self) -> bool:
        fields = [*(self.arguments.walk() if self.arguments else []), *([self.weight] if self.weight else [])]
        return bool(self.problems) or any(item.problems for item in fields)

    @property
    def state(self) -> str:
        if self.paths:
            return "unknown"
        on = sum(switch.on for switch in self.switches)
        return "off" if not on else "on" if on == len(self.switches) else gettext("partly on")


def plugin_row(name: str, profile: dict[str, Any], base: Path, now: Effective, of: Tables) -> PluginRow:
    plugins = profile.get("plugins")
    default, known = default_points(of), of.points_of(name)
    switches = [Switch(point, f"on.{name}.{point}", name in now[point], name in default[point]) for point in known]
    weight = None
    if "score" in known:
        value, place = weight_entry(plugins, name, of)
        weight = Field(
            "number",
            f"weight.{name}",
            gettext("Weight"),
            value="" if value is ABSENT else str(value),
            default=str(of.default_weight(name)),
            minimum=1,
            path=(*base, "plugins", *place) if place else (),
            schema={"type": "integer", "minimum": 1},
        )
    return PluginRow(name, _help(name, of), switches, weight, _arguments(name, profile, base, of))


def unknown(profile: dict[str, Any], of: Tables) -> list[str]:
    """The plugins that ``profile`` names and the release does not have, in their order."""
    names = [entry.name for entry in named(profile.get("plugins"))]
    names += [str(as_dict(item).get("name", "")) for item in as_list(profile.get("pluginConfig"))]
    known = {"", "*", *of.release.registry.specs}
    return [name for name in dict.fromkeys(names) if name not in known]


def unknown_row(name: str, profile: dict[str, Any], base: Path, of: Tables) -> PluginRow:
    """What the document says of a plugin that the release does not have: shown, and changed in the YAML only."""
    row = PluginRow(
        name, gettext("There is no such plugin in %(release)s.") % {"release": of.release.title}, [], None, None
    )
    for entry in named(profile.get("plugins")):
        if entry.name == name:
            weight = "" if entry.weight is None else gettext(", weight %(weight)s") % {"weight": entry.weight}
            row.written.append(f"{entry.point}: {entry.key}{weight}")
            row.paths.append((*base, "plugins", entry.point, entry.key, entry.place))
    place = config_index(profile, name)
    if place is not None:
        args = args_of(profile, name)
        row.written.append("pluginConfig" if args is ABSENT else as_yaml({"args": args}))
        row.paths.append((*base, "pluginConfig", place))
    return row


def _help(name: str, of: Tables) -> str:
    spec = of.release.registry.specs[name]
    said = helped(spec.help)
    if not spec.gate:
        return said
    return gettext("%(help)s Does nothing without the feature gate %(gate)s.") % {"help": said, "gate": spec.gate}


def weight_entry(plugins: object, name: str, of: Tables) -> tuple[Any, Path]:
    """The weight of ``name`` as written in the document, and its path."""
    for point in ("score", "multiPoint"):
        listed = as_list(as_dict(as_dict(plugins).get(point)).get("enabled"))
        for index, entry in enumerate(listed):
            if as_dict(entry).get("name") == name:
                weight = entry.get("weight")
                # kube-scheduler treats 0 and an absent weight as 1.
                explicit = weight if weight else 1
                return (ABSENT if explicit == of.default_weight(name) and not weight else explicit), (
                    point,
                    "enabled",
                    index,
                    "weight",
                )
    return ABSENT, ()


def config_index(profile: dict[str, Any], name: str) -> int | None:
    configs = as_list(profile.get("pluginConfig"))
    return next((index for index, item in enumerate(configs) if as_dict(item).get("name") == name), None)


def args_of(profile: dict[str, Any], name: str) -> Any:
    index = config_index(profile, name)
    return ABSENT if index is None else as_dict(as_list(profile.get("pluginConfig"))[index]).get("args", ABSENT)


def _arguments(name: str, profile: dict[str, Any], base: Path, of: Tables) -> Field | None:
    schema = of.args_schema(name)
    if schema is None:
        return None
    index = config_index(profile, name)
    path: Path = (*base, "pluginConfig", index, "args") if index is not None else ()
    return arguments.form_field(
        schema, f"args.{name}", name, args_of(profile, name), of.default_arguments.get(name, ABSENT), path
    )
