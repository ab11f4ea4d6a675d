"""Plugins as rows of the form: switches, weights and arguments from a profile's document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from kschedweb.engine.documents.marked_documents import MarkedProblem, Path, as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField
from kschedweb.policies.editing.help_translation import translate_help
from kschedweb.policies.editing.release_tables import Tables
from kschedweb.policies.editing.switches import Effective, as_dict, as_list, default_points, list_entries


@dataclass
class Switch:
    point: str
    name: str
    on: bool
    by_default: bool


@dataclass
class PluginRow:
    """One plugin: a switch for each extension point that it implements, its weight, its arguments."""

    name: str
    help: str
    switches: list[Switch]
    # None for a plugin that does not score.
    weight: FormField | None
    # None for a plugin without arguments.
    arguments: FormField | None
    problems: list[MarkedProblem] = field(default_factory=list)
    # The score curves of a load-aware plugin (curves.py).
    panel: object = None
    # What the document says about a plugin that the release does not have.
    mentions: list[str] = field(default_factory=list)
    # The places in the document where that is said.
    paths: list[Path] = field(default_factory=list)
    # False if the filter of the form hides it (``sections.FormFilter``).
    is_shown: bool = True

    @property
    def text(self) -> str:
        return "\n".join(self.mentions)

    @property
    def is_changed(self) -> bool:
        """True if the document says anything about the plugin that differs from the defaults."""
        fields = self.arguments.walk() if self.arguments else []
        return (
            bool(self.paths)
            or any(switch.on != switch.by_default for switch in self.switches)
            or bool(self.weight and self.weight.value)
            or any(item.value for item in fields)
        )

    @property
    def differs(self) -> bool:
        """True if the plugin behaves differently from the default. A default that is written out makes no
        difference.
        """
        return (
            bool(self.paths)
            or any(switch.on != switch.by_default for switch in self.switches)
            or bool(self.weight and self.weight.differs)
            or bool(self.arguments and self.arguments.differs)
        )

    @property
    def search_text(self) -> str:
        """The lower-case text that a search for plugins looks in."""
        return f"{self.name} {self.help}".lower()

    def is_told(self, problem: MarkedProblem) -> bool:
        """Return whether ``problem`` is about this plugin, which the release does not have."""
        # kube-scheduler numbers the plugins after defaulting, so the place in its message may not exist in the
        # document.
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


def plugin_row(name: str, profile: Json, base: Path, now: Effective, tables: Tables) -> PluginRow:
    plugins = profile.get("plugins")
    default, points = default_points(tables), tables.points_of(name)
    switches = [Switch(point, f"on.{name}.{point}", name in now[point], name in default[point]) for point in points]
    weight = None
    if "score" in points:
        value, place = weight_entry(plugins, name, tables)
        weight = FormField(
            "number",
            f"weight.{name}",
            gettext("Weight"),
            value="" if value is ABSENT else str(value),
            default=str(tables.default_weight(name)),
            minimum=1,
            path=(*base, "plugins", *place) if place else (),
            schema={"type": "integer", "minimum": 1},
        )
    return PluginRow(name, _plugin_help(name, tables), switches, weight, _arguments_field(name, profile, base, tables))


def unknown_plugins(profile: Json, tables: Tables) -> list[str]:
    """Return the plugins that ``profile`` names and the release does not have, in their order."""
    names = [entry.name for entry in list_entries(profile.get("plugins"))]
    names += [str(as_dict(item).get("name", "")) for item in as_list(profile.get("pluginConfig"))]
    known_names = {"", "*", *tables.release.registry.specs}
    return [name for name in dict.fromkeys(names) if name not in known_names]


def unknown_row(name: str, profile: Json, base: Path, tables: Tables) -> PluginRow:
    """Return the row of a plugin that the release does not have. It is shown here and changed in the YAML only."""
    row = PluginRow(
        name, gettext("There is no such plugin in %(release)s.") % {"release": tables.release.title}, [], None, None
    )
    for entry in list_entries(profile.get("plugins")):
        if entry.name == name:
            weight = "" if entry.weight is None else gettext(", weight %(weight)s") % {"weight": entry.weight}
            row.mentions.append(f"{entry.point}: {entry.key}{weight}")
            row.paths.append((*base, "plugins", entry.point, entry.key, entry.place))
    place = config_index(profile, name)
    if place is not None:
        args = args_of(profile, name)
        row.mentions.append("pluginConfig" if args is ABSENT else as_yaml({"args": args}))
        row.paths.append((*base, "pluginConfig", place))
    return row


def _plugin_help(name: str, tables: Tables) -> str:
    spec = tables.release.registry.specs[name]
    help_text = translate_help(spec.help)
    if not spec.gate:
        return help_text
    return gettext("%(help)s Does nothing without the feature gate %(gate)s.") % {"help": help_text, "gate": spec.gate}


def weight_entry(plugins: object, name: str, tables: Tables) -> tuple[Any, Path]:
    """Return the weight of ``name`` as the document has it, and its path."""
    # An entry at score decides over one at multiPoint, as kube-scheduler merges them.
    for point in ("score", "multiPoint"):
        listed = as_list(as_dict(as_dict(plugins).get(point)).get("enabled"))
        for index, entry in enumerate(listed):
            if as_dict(entry).get("name") == name:
                weight = entry.get("weight")
                # kube-scheduler treats 0 and an absent weight as 1.
                explicit = weight if weight else 1
                return (ABSENT if explicit == tables.default_weight(name) and not weight else explicit), (
                    point,
                    "enabled",
                    index,
                    "weight",
                )
    return ABSENT, ()


def config_index(profile: Json, name: str) -> int | None:
    configs = as_list(profile.get("pluginConfig"))
    return next((index for index, item in enumerate(configs) if as_dict(item).get("name") == name), None)


def args_of(profile: Json, name: str) -> Any:
    index = config_index(profile, name)
    return ABSENT if index is None else as_dict(as_list(profile.get("pluginConfig"))[index]).get("args", ABSENT)


def _arguments_field(name: str, profile: Json, base: Path, tables: Tables) -> FormField | None:
    schema = tables.args_schema(name)
    if schema is None:
        return None
    index = config_index(profile, name)
    path: Path = (*base, "pluginConfig", index, "args") if index is not None else ()
    return arguments.form_field(
        schema, f"args.{name}", name, args_of(profile, name), tables.default_arguments.get(name, ABSENT), path
    )
