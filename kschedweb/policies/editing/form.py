"""The structured form of one profile: fields from a document, and fields written back into the document.

A posted form is compared with the document from which it was filled (the base), and only differences are written into
the posted document. So a person can change fields and YAML at once, and neither overwrites the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.documents.marked import MarkedProblem, Path, as_yaml, parse
from kschedweb.policies.editing import arguments, load_aware
from kschedweb.policies.editing.arguments import ABSENT, Field
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.switches import (
    Effective,
    as_dict,
    as_list,
    default_points,
    effective,
    named,
    with_plugin,
    without_plugin,
)
from kschedweb.policies.editing.tables import Tables, tables

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
    written: list[str] = field(default_factory=list)  # what is said of a plugin that the release does not have
    paths: list[Path] = field(default_factory=list)  # where that is said

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


def build(data: Any, index: int, problems: list[MarkedProblem], of: Tables | None = None) -> ProfileForm:
    """The form for profile ``index`` of a document's plain data, with ``problems`` at their fields.

    ``of`` are the tables of the release that the form offers; ``None`` for the current one.
    """
    of = of or tables()
    profiles = as_list(as_dict(data).get("profiles")) or [{}]
    index = min(max(index, 0), len(profiles) - 1)
    profile = as_dict(profiles[index])
    base: Path = ("profiles", index)
    now = effective(profile.get("plugins"), of)
    form = ProfileForm(
        index,
        [str(as_dict(item).get("schedulerName") or "default-scheduler") for item in profiles[:PROFILE_LIMIT]],
        _plain_fields("general", as_dict(data), GENERAL, (), of.properties("KubeSchedulerConfiguration")),
        _plain_fields("profile", profile, PROFILE, base, of.properties("KubeSchedulerProfile")),
        [
            *(_plugin_row(name, profile, base, now, of) for name in of.plugins),
            *(_unknown_row(name, profile, base, of) for name in _unknown(profile, of)),
        ],
    )
    _place(form, problems)
    return form


def apply(text: str, base: str, posted: Posted, index: int, of: Tables | None = None) -> str:
    """``text`` with the changes of ``posted`` relative to the form of profile ``index`` of ``base``.

    ``of`` are the tables that the form was made with: a release chosen in it is shown by the next one.
    Raises ``DocumentError`` if one of the two is not a YAML document.
    """
    of = of or tables()
    data, shown = parse(text).data, as_dict(parse(base).data)
    target = deepcopy(as_dict(data))
    _write_plain(target, shown, posted, "general", of.properties("KubeSchedulerConfiguration"), GENERAL)
    profiles = as_list(target.get("profiles"))
    shown_profiles = as_list(shown.get("profiles"))
    shown_profile = as_dict(shown_profiles[index]) if index < len(shown_profiles) else {}
    profile = as_dict(profiles[index]) if index < len(profiles) else {}
    changed = deepcopy(profile)
    _write_plain(changed, shown_profile, posted, "profile", of.properties("KubeSchedulerProfile"), PROFILE)
    shown_points = effective(shown_profile.get("plugins"), of)
    for name in of.plugins:
        _write_plugin(changed, shown_profile, shown_points, posted, name, of)
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


def reset(text: str, index: int, plugin: str, of: Tables | None = None) -> str:
    """``text`` without entries and arguments of ``plugin`` in profile ``index``."""
    of = of or tables()
    data = as_dict(parse(text).data)
    profiles = as_list(data.get("profiles"))
    profile = deepcopy(as_dict(profiles[index])) if index < len(profiles) else {}
    if plugin in of.plugins and profile:
        points = frozenset(point for point in of.points_of(plugin) if plugin in default_points(of)[point])
        _write_switches(profile, plugin, points, "", True, of)
    elif plugin in _unknown(profile, of):
        _set_plugins(profile, without_plugin(profile.get("plugins"), plugin, of))
    else:
        return text
    _write_arguments(profile, plugin, ABSENT, of)
    return rewrite(text, data | {"profiles": [*profiles[:index], profile, *profiles[index + 1 :]]})


# --- fields from values


def _plain_fields(
    prefix: str, values: dict[str, Any], names: tuple[str, ...], path: Path, schema: dict[str, Any]
) -> list[Field]:
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


def _plugin_row(name: str, profile: dict[str, Any], base: Path, now: Effective, of: Tables) -> PluginRow:
    plugins = profile.get("plugins")
    default, known = default_points(of), of.points_of(name)
    switches = [Switch(point, f"on.{name}.{point}", name in now[point], name in default[point]) for point in known]
    weight = None
    if "score" in known:
        value, place = _weight_entry(plugins, name, of)
        weight = Field(
            "number",
            f"weight.{name}",
            "Weight",
            value="" if value is ABSENT else str(value),
            default=str(of.default_weight(name)),
            minimum=1,
            path=(*base, "plugins", *place) if place else (),
        )
    return PluginRow(name, _help(name, of), switches, weight, _arguments(name, profile, base, of))


def _unknown(profile: dict[str, Any], of: Tables) -> list[str]:
    """The plugins that ``profile`` names and the release does not have, in their order."""
    names = [entry.name for entry in named(profile.get("plugins"))]
    names += [str(as_dict(item).get("name", "")) for item in as_list(profile.get("pluginConfig"))]
    known = {"", "*", *of.release.registry.specs}
    return [name for name in dict.fromkeys(names) if name not in known]


def _unknown_row(name: str, profile: dict[str, Any], base: Path, of: Tables) -> PluginRow:
    """What the document says of a plugin that the release does not have: shown, and changed in the YAML only."""
    row = PluginRow(name, f"There is no such plugin in {of.release.title}.", [], None, None)
    for entry in named(profile.get("plugins")):
        if entry.name == name:
            weight = "" if entry.weight is None else f", weight {entry.weight}"
            row.written.append(f"{entry.point}: {entry.key}{weight}")
            row.paths.append((*base, "plugins", entry.point, entry.key, entry.place))
    place = _config_index(profile, name)
    if place is not None:
        args = _args(profile, name)
        row.written.append("pluginConfig" if args is ABSENT else as_yaml({"args": args}))
        row.paths.append((*base, "pluginConfig", place))
    return row


def _help(name: str, of: Tables) -> str:
    spec = of.release.registry.specs[name]
    return f"{spec.help} Does nothing without the feature gate {spec.gate}." if spec.gate else spec.help


def _weight_entry(plugins: object, name: str, of: Tables) -> tuple[Any, Path]:
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


def _config_index(profile: dict[str, Any], name: str) -> int | None:
    configs = as_list(profile.get("pluginConfig"))
    return next((index for index, item in enumerate(configs) if as_dict(item).get("name") == name), None)


def _args(profile: dict[str, Any], name: str) -> Any:
    index = _config_index(profile, name)
    return ABSENT if index is None else as_dict(as_list(profile.get("pluginConfig"))[index]).get("args", ABSENT)


def _arguments(name: str, profile: dict[str, Any], base: Path, of: Tables) -> Field | None:
    schema = of.args_schema(name)
    if schema is None:
        return None
    index = _config_index(profile, name)
    path: Path = (*base, "pluginConfig", index, "args") if index is not None else ()
    return arguments.form_field(
        schema, f"args.{name}", name, _args(profile, name), of.default_arguments.get(name, ABSENT), path
    )


def _place(form: ProfileForm, problems: list[MarkedProblem]) -> None:
    """Put each problem at the field whose path is the longest prefix of its path."""
    fields = [*form.general, *form.fields]
    for row in form.plugins:
        fields += [*(row.arguments.walk() if row.arguments else []), *([row.weight] if row.weight else [])]
    for problem in problems:
        for row in form.plugins:
            if row.is_told(problem):
                row.problems.append(problem)
        hits = [item for item in fields if item.path and problem.keys[: len(item.path)] == item.path]
        if hits:
            max(hits, key=lambda item: len(item.path)).problems.append(problem)


# --- values from fields


def _write_plain(
    target: dict[str, Any],
    shown: dict[str, Any],
    posted: Posted,
    prefix: str,
    schema: dict[str, Any],
    names: tuple[str, ...],
) -> None:
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
    profile: dict[str, Any], shown: dict[str, Any], shown_now: Effective, posted: Posted, name: str, of: Tables
) -> None:
    points = frozenset(point for point in of.points if f"on.{name}.{point}" in posted)
    shown_points = frozenset(point for point in of.points if name in shown_now[point])
    weight = posted.get(f"weight.{name}", "").strip()
    shown_weight = _weight_entry(shown.get("plugins"), name, of)[0]
    weight_changed = f"weight.{name}" in posted and weight != ("" if shown_weight is ABSENT else str(shown_weight))
    if points != shown_points or weight_changed:
        _write_switches(profile, name, points if points != shown_points else None, weight, weight_changed, of)
    schema = of.args_schema(name)
    if schema is not None:
        old = arguments.shown_value(schema, _args(shown, name))
        new = arguments.read(schema, f"args.{name}", posted)
        if old != new:
            _write_arguments(profile, name, arguments.overlay(old, new, _args(profile, name)), of)


def _write_switches(
    profile: dict[str, Any], name: str, points: frozenset[str] | None, weight: str, weight_changed: bool, of: Tables
) -> None:
    now = effective(profile.get("plugins"), of)
    if points is None:
        points = frozenset(point for point in of.points if name in now[point])
    if weight_changed:
        wanted: Any = arguments.number(weight) if weight else None
    else:
        kept = _weight_entry(profile.get("plugins"), name, of)[0]
        wanted = None if kept is ABSENT else kept
    _set_plugins(profile, with_plugin(profile.get("plugins"), name, points, wanted, of))


def _set_plugins(profile: dict[str, Any], plugins: dict[str, Any]) -> None:
    if plugins or profile.get("plugins") == {}:
        profile["plugins"] = plugins
    else:
        profile.pop("plugins", None)


def _write_arguments(profile: dict[str, Any], name: str, value: Any, of: Tables) -> None:
    if value is not ABSENT and name == "NodeResourcesFit" and as_dict(value.get("scoringStrategy")):
        # kube-scheduler defaults the type only if the whole strategy is absent.
        value["scoringStrategy"].setdefault("type", "LeastAllocated")
    if value is not ABSENT:
        load_aware.completed(name, value, as_dict(_args(profile, name)), of.default_arguments.get(name, {}))
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
