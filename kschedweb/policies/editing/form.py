"""The structured form of one profile: fields from a document, and fields written back into the document.

A posted form is compared with the document from which it was filled (the base), and only differences are written into
the posted document. So a person can change fields and YAML at once, and neither overwrites the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kschedweb.engine.config import EMPTY
from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.documents.marked import MarkedProblem, Path, parse
from kschedweb.engine.releases import CURRENT, load
from kschedweb.policies.editing import arguments, load_aware
from kschedweb.policies.editing.arguments import ABSENT, Field
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.switches import (
    Effective,
    as_dict,
    as_list,
    default_weight,
    default_weights,
    effective,
    points_of,
    with_plugin,
)

Posted = Mapping[str, str]

GENERAL = ("percentageOfNodesToScore", "parallelism", "podInitialBackoffSeconds", "podMaxBackoffSeconds")
PROFILE = ("schedulerName", "percentageOfNodesToScore")
PROFILE_LIMIT = 100


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

    @property
    def is_changed(self) -> bool:
        """Whether the document differs from the default for this plugin."""
        fields = self.arguments.walk() if self.arguments else []
        return (
            any(switch.on != switch.by_default for switch in self.switches)
            or bool(self.weight and self.weight.value)
            or any(item.value for item in fields)
        )

    @property
    def has_problems(self) -> bool:
        fields = [*(self.arguments.walk() if self.arguments else []), *([self.weight] if self.weight else [])]
        return bool(self.problems) or any(item.problems for item in fields)

    @property
    def state(self) -> str:
        on = sum(switch.on for switch in self.switches)
        return "off" if not on else "on" if on == len(self.switches) else "partly on"


@dataclass
class ProfileForm:
    """The fields of profile ``index``; ``tabs`` names every profile of the document."""

    index: int
    tabs: list[str]
    general: list[Field]
    fields: list[Field]
    plugins: list[PluginRow]

    @property
    def current_name(self) -> str:
        return self.tabs[self.index] if self.index < len(self.tabs) else "default-scheduler"

    @property
    def general_changed(self) -> bool:
        return any(item.value for item in self.general)

    @property
    def slider_limit(self) -> int:
        """The right end of every slider, so that weights can be compared by eye."""
        weights = [row.weight.value or row.weight.default for row in self.plugins if row.weight]
        return max([10, *(int(weight) for weight in weights if weight.isdecimal() and len(weight) < 4)])


def build(data: Any, index: int, problems: list[MarkedProblem]) -> ProfileForm:
    """The form for profile ``index`` of a document's plain data, with ``problems`` at their fields."""
    profiles = as_list(as_dict(data).get("profiles")) or [{}]
    index = min(max(index, 0), len(profiles) - 1)
    profile = as_dict(profiles[index])
    base: Path = ("profiles", index)
    now = effective(profile.get("plugins"))
    form = ProfileForm(
        index,
        [str(as_dict(item).get("schedulerName") or "default-scheduler") for item in profiles[:PROFILE_LIMIT]],
        _plain_fields("general", as_dict(data), GENERAL, (), "KubeSchedulerConfiguration"),
        _plain_fields("profile", profile, PROFILE, base, "KubeSchedulerProfile"),
        [_plugin_row(name, profile, base, now) for name in plugin_names()],
    )
    _place(form, problems)
    return form


def apply(text: str, base: str, posted: Posted, index: int) -> str:
    """``text`` with the changes of ``posted`` relative to the form of profile ``index`` of ``base``.

    Raises ``DocumentError`` if one of the two is not a YAML document.
    """
    data, shown = parse(text).data, as_dict(parse(base).data)
    target = deepcopy(as_dict(data))
    _write_plain(target, shown, posted, "general", GENERAL, "KubeSchedulerConfiguration")
    profiles = as_list(target.get("profiles"))
    shown_profiles = as_list(shown.get("profiles"))
    shown_profile = as_dict(shown_profiles[index]) if index < len(shown_profiles) else {}
    profile = as_dict(profiles[index]) if index < len(profiles) else {}
    changed = deepcopy(profile)
    _write_plain(changed, shown_profile, posted, "profile", PROFILE, "KubeSchedulerProfile")
    shown_points = effective(shown_profile.get("plugins"))
    for name in plugin_names():
        _write_plugin(changed, shown_profile, shown_points, posted, name)
    if changed != profile:
        target["profiles"] = [*profiles[:index], changed, *profiles[index + 1 :]]
    return text if target == as_dict(data) else rewrite(text, target)


def add_profile(text: str) -> str:
    """``text`` with one more profile with a new name."""
    data = as_dict(parse(text).data)
    profiles = as_list(data.get("profiles")) or [{"schedulerName": "default-scheduler"}]
    used = {as_dict(profile).get("schedulerName", "default-scheduler") for profile in profiles}
    name = next(name for number in range(2, 1_000_000) if (name := f"scheduler-{number}") not in used)
    # With a second profile each must have a name.
    named = [{"schedulerName": "default-scheduler"} | as_dict(profile) for profile in profiles]
    return rewrite(text, data | {"profiles": [*named, {"schedulerName": name}]})


def remove_profile(text: str, index: int) -> str:
    """``text`` without profile ``index``, unless it is the only one."""
    data = as_dict(parse(text).data)
    profiles = as_list(data.get("profiles"))
    if len(profiles) < 2 or index >= len(profiles):
        return text
    return rewrite(text, data | {"profiles": [*profiles[:index], *profiles[index + 1 :]]})


def reset(text: str, index: int, plugin: str) -> str:
    """``text`` without entries and arguments of ``plugin`` in profile ``index``."""
    data = as_dict(parse(text).data)
    profiles = as_list(data.get("profiles"))
    if plugin not in plugin_names() or index >= len(profiles):
        return text
    profile = deepcopy(as_dict(profiles[index]))
    points = frozenset(point for point in points_of(plugin) if plugin in default_points()[point])
    _write_switches(profile, plugin, points, "", True)
    _write_arguments(profile, plugin, ABSENT)
    return rewrite(text, data | {"profiles": [*profiles[:index], profile, *profiles[index + 1 :]]})


# --- fields from values


@cache
def default_points() -> Effective:
    """The plugins at each extension point by default."""
    return effective({})


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path and the text of every leaf of nested values."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@cache
def default_arguments() -> dict[str, Any]:
    """The default arguments of each plugin."""
    others = [name for name, spec in CURRENT.registry.specs.items() if spec.args and name not in default_weights()]
    plugins = {"multiPoint": {"enabled": [{"name": name} for name in others]}}
    defaulted = load(
        {
            **EMPTY,
            "profiles": [{"plugins": plugins}],
        }
    ).defaulted
    return {item["name"]: item["args"] for item in as_dict(defaulted)["profiles"][0]["pluginConfig"]}


@cache
def plugin_names() -> tuple[str, ...]:
    """Every plugin with a row: the default set in its order, then the others."""
    defaults = [reference.name for reference in CURRENT.registry.defaults]
    others = [name for name in CURRENT.registry.specs if name not in defaults]
    return tuple(name for name in [*defaults, *others] if points_of(name))


def _schema_of(definition: str) -> dict[str, Any]:
    schema = arguments.definitions()
    found = schema if definition == "KubeSchedulerConfiguration" else schema["$defs"][definition]
    return as_dict(arguments.resolved(found).get("properties"))


def _plain_fields(
    prefix: str, values: dict[str, Any], names: tuple[str, ...], path: Path, definition: str
) -> list[Field]:
    schema = _schema_of(definition)
    return [
        arguments.form_field(
            schema[name],
            f"{prefix}.{name}",
            name,
            values.get(name, ABSENT),
            schema[name].get("default", ABSENT),
            (*path, name),
        )
        for name in names
    ]


def _plugin_row(name: str, profile: dict[str, Any], base: Path, now: Effective) -> PluginRow:
    plugins = profile.get("plugins")
    default = default_points()
    switches = [
        Switch(point, f"on.{name}.{point}", name in now[point], name in default[point]) for point in points_of(name)
    ]
    weight = None
    if "score" in points_of(name):
        value, place = _weight_entry(plugins, name)
        weight = Field(
            "number",
            f"weight.{name}",
            "Weight",
            value="" if value is ABSENT else str(value),
            default=str(default_weight(name)),
            minimum=1,
            path=(*base, "plugins", *place) if place else (),
        )
    return PluginRow(name, _help(name), switches, weight, _arguments(name, profile, base))


def _help(name: str) -> str:
    spec = CURRENT.registry.specs[name]
    return f"{spec.help} Does nothing without the feature gate {spec.gate}." if spec.gate else spec.help


def _weight_entry(plugins: object, name: str) -> tuple[Any, Path]:
    """The weight of ``name`` as written in the document, and its path."""
    for point in ("score", "multiPoint"):
        listed = as_list(as_dict(as_dict(plugins).get(point)).get("enabled"))
        for index, entry in enumerate(listed):
            if as_dict(entry).get("name") == name:
                weight = entry.get("weight")
                # kube-scheduler treats 0 and an absent weight as 1.
                explicit = weight if weight else 1
                return (ABSENT if explicit == default_weight(name) and not weight else explicit), (
                    point,
                    "enabled",
                    index,
                    "weight",
                )
    return ABSENT, ()


def _config_index(profile: dict[str, Any], name: str) -> int | None:
    configs = as_list(profile.get("pluginConfig"))
    return next((index for index, item in enumerate(configs) if as_dict(item).get("name") == name), None)


def _args(profile: dict[str, Any], name: str) -> Any:
    index = _config_index(profile, name)
    return ABSENT if index is None else as_dict(as_list(profile.get("pluginConfig"))[index]).get("args", ABSENT)


def _arguments(name: str, profile: dict[str, Any], base: Path) -> Field | None:
    schema = arguments.args_schema(name)
    if schema is None:
        return None
    index = _config_index(profile, name)
    path: Path = (*base, "pluginConfig", index, "args") if index is not None else ()
    return arguments.form_field(
        schema, f"args.{name}", name, _args(profile, name), default_arguments().get(name, ABSENT), path
    )


def _place(form: ProfileForm, problems: list[MarkedProblem]) -> None:
    """Put each problem at the field whose path is the longest prefix of its path."""
    fields = [*form.general, *form.fields]
    for row in form.plugins:
        fields += [*(row.arguments.walk() if row.arguments else []), *([row.weight] if row.weight else [])]
    for problem in problems:
        hits = [item for item in fields if item.path and problem.keys[: len(item.path)] == item.path]
        if hits:
            max(hits, key=lambda item: len(item.path)).problems.append(problem)


# --- values from fields


def _write_plain(
    target: dict[str, Any], shown: dict[str, Any], posted: Posted, prefix: str, names: tuple[str, ...], definition: str
) -> None:
    schema = _schema_of(definition)
    for name in names:
        if f"{prefix}.{name}" not in posted:
            continue
        old = arguments.shown_value(schema[name], shown.get(name, ABSENT))
        new = arguments.read(schema[name], f"{prefix}.{name}", posted)
        if old == new:
            continue
        if new is ABSENT:
            target.pop(name, None)
        else:
            target[name] = new


def _write_plugin(
    profile: dict[str, Any], shown: dict[str, Any], shown_now: Effective, posted: Posted, name: str
) -> None:
    points = frozenset(point for point in EXTENSION_POINTS if f"on.{name}.{point}" in posted)
    shown_points = frozenset(point for point in EXTENSION_POINTS if name in shown_now[point])
    weight = posted.get(f"weight.{name}", "").strip()
    shown_weight = _weight_entry(shown.get("plugins"), name)[0]
    weight_changed = f"weight.{name}" in posted and weight != ("" if shown_weight is ABSENT else str(shown_weight))
    if points != shown_points or weight_changed:
        _write_switches(profile, name, points if points != shown_points else None, weight, weight_changed)
    schema = arguments.args_schema(name)
    if schema is not None:
        old = arguments.shown_value(schema, _args(shown, name))
        new = arguments.read(schema, f"args.{name}", posted)
        if old != new:
            _write_arguments(profile, name, arguments.overlay(old, new, _args(profile, name)))


def _write_switches(
    profile: dict[str, Any], name: str, points: frozenset[str] | None, weight: str, weight_changed: bool
) -> None:
    now = effective(profile.get("plugins"))
    if points is None:
        points = frozenset(point for point in EXTENSION_POINTS if name in now[point])
    if weight_changed:
        wanted: Any = arguments.number(weight) if weight else None
    else:
        kept = _weight_entry(profile.get("plugins"), name)[0]
        wanted = None if kept is ABSENT else kept
    plugins = with_plugin(profile.get("plugins"), name, points, wanted)
    if plugins or profile.get("plugins") == {}:
        profile["plugins"] = plugins
    else:
        profile.pop("plugins", None)


def _write_arguments(profile: dict[str, Any], name: str, value: Any) -> None:
    if value is not ABSENT and name == "NodeResourcesFit" and as_dict(value.get("scoringStrategy")):
        # kube-scheduler defaults the type only if the whole strategy is absent.
        value["scoringStrategy"].setdefault("type", "LeastAllocated")
    if value is not ABSENT:
        load_aware.completed(name, value, as_dict(_args(profile, name)), default_arguments().get(name, {}))
    index = _config_index(profile, name)
    configs = as_list(profile.get("pluginConfig"))
    if index is None:
        if value is ABSENT:
            return
        configs = [*configs, {"name": name, "args": value}]
    else:
        entry = {key: item for key, item in configs[index].items() if key != "args"}
        if value is not ABSENT:
            entry["args"] = value
        keep = [entry] if "args" in entry or entry.keys() != {"name"} else []
        configs = [*configs[:index], *keep, *configs[index + 1 :]]
    if configs:
        profile["pluginConfig"] = configs
    else:
        profile.pop("pluginConfig", None)
