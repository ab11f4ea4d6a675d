"""The form of a DeschedulerPolicy: its limits, and for each profile the plugins that run, with their arguments."""

from __future__ import annotations

from functools import cache

from kschedweb.engine.documents.json_schema import Schemas
from kschedweb.engine.documents.marked_documents import MarkedProblem, Path
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.document import POLICY
from kschedweb.engine.rebalancing.handle import FILTER
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.documents import Items, get_at_path, read_changed_value, set_at_path
from kschedweb.policies.editing.field_problems import place_problems
from kschedweb.policies.editing.release_tables import Schema
from kschedweb.policies.editing.switches import as_list
from kschedweb.web.translating import gettext_lazy as _

SCHEMA = Schemas().struct_schema(POLICY)["properties"]
LABELS = {
    "nodeSelector": _("Only nodes with these labels"),
    "maxNoOfPodsToEvictTotal": _("Most evictions in a cycle"),
    "maxNoOfPodsToEvictPerNode": _("Most evictions from a node"),
    "maxNoOfPodsToEvictPerNamespace": _("Most evictions from a namespace"),
}
NAME: Schema = {"type": "string", "description": "The name of the profile."}
RUNS: Schema = {"type": "boolean", "description": "Run this plugin."}
EVICTOR = defaultevictor.NAME
NAMES = (EVICTOR, *(name for name in PLUGINS if name != EVICTOR))
# The form shows every plugin of every profile, so more profiles would make too large a page.
MOST_PROFILES = 20
CHOICES = {"noEvictionPolicy": list(defaultevictor.POLICIES)}
# A new profile evicts nothing before a plugin of it is switched on.
ITEMS = Items("profiles", "profile", lambda name: {"name": name}, lambda profile: profile.get("name"))


@cache
def schema_of(plugin: str) -> Schema:
    """Return the schema of a plugin's arguments with one input for each. Selectors are edited as YAML."""
    schema = _simplify_schema("", Schemas().struct_schema(PLUGINS[plugin].args))
    return {
        **schema,
        "properties": {key: field_schema for key, field_schema in schema["properties"].items() if key not in _TYPED},
    }


_TYPED = ("kind", "apiVersion")


def _simplify_schema(name: str, schema: Schema) -> Schema:
    inner = schema.get("properties")
    if name in CHOICES:
        return {**schema, "enum": CHOICES[name]}
    if not inner:
        return schema
    if "matchExpressions" in inner:
        return {"description": f"{schema.get('description', '')} As YAML: matchLabels, matchExpressions.".strip()}
    return {**schema, "properties": {key: _simplify_schema(key, field_schema) for key, field_schema in inner.items()}}


def build_fields(data: Json, problems: list[MarkedProblem]) -> list[FormField]:
    """Return a field for each limit and a group for each profile, with ``problems`` beside them."""
    fields = []
    for name, label in LABELS.items():
        fields.append(arguments.form_field(SCHEMA[name], name, label, data.get(name, ABSENT), ABSENT, (name,)))
    fields += [_profile_field(number, profile) for number, profile in enumerate(_list_profiles(data))]
    place_problems(problems, [inner for field in fields for inner in field.walk()])
    return fields


def write_form(target: Json, base_data: Json, posted: Posted) -> None:
    """Write into ``target`` what the posted form changes of ``base_data``, the document that it showed."""
    for name in LABELS:
        set_at_path(
            target,
            (name,),
            read_changed_value(
                SCHEMA[name], name, get_at_path(base_data, (name,)), get_at_path(target, (name,)), posted
            ),
        )
    before = _list_profiles(base_data)
    for number, profile in enumerate(_list_profiles(target)[: len(before)]):
        prefix, old = f"profile.{number}", before[number]
        if not any(key.startswith(f"{prefix}.") for key in posted):
            continue
        name = read_changed_value(
            NAME, f"{prefix}.name", get_at_path(old, ("name",)), get_at_path(profile, ("name",)), posted
        )
        set_at_path(profile, ("name",), name)
        for plugin in NAMES:
            _write_plugin(profile, old, plugin, prefix, posted)


def _write_plugin(profile: Json, old: Json, plugin: str, prefix: str, posted: Posted) -> None:
    schema, name = schema_of(plugin), f"{prefix}.{plugin}"
    base_config, _ = _find_config(old, plugin)
    current, _ = _find_config(profile, plugin)
    args = read_changed_value(
        schema, f"{name}.args", get_at_path(base_config, ("args",)), get_at_path(current, ("args",)), posted
    )
    if args is not ABSENT or get_at_path(current, ("args",)) is not ABSENT:
        _config_entry(profile, plugin)["args"] = {} if args is ABSENT else args
    if plugin == EVICTOR:
        return
    was, runs = _is_enabled(old, plugin), posted.get(f"{name}.runs") == "true"
    if was != runs and _is_enabled(profile, plugin) != runs:
        _switch_plugin(profile, plugin, runs=runs)


def _switch_plugin(profile: Json, plugin: str, *, runs: bool) -> None:
    """Switch a plugin on or off. A plugin that is on needs an entry in pluginConfig, even an empty one."""
    path: Path = ("plugins", PLUGINS[plugin].point, "enabled")
    enabled = as_list(get_at_path(profile, path))
    if runs:
        set_at_path(profile, path, [*enabled, plugin])
        _config_entry(profile, plugin).setdefault("args", {})
    else:
        set_at_path(profile, path, [name for name in enabled if name != plugin])


def _config_entry(profile: Json, plugin: str) -> Json:
    """Return the entry of a plugin in pluginConfig; add one if there is none."""
    entry, number = _find_config(profile, plugin)
    if number is None:
        entry = {"name": plugin}
        profile["pluginConfig"] = [*as_list(profile.get("pluginConfig")), entry]
    return entry


def _find_config(profile: Json, plugin: str) -> tuple[Json, int | None]:
    """Return the first entry of a plugin in pluginConfig and its place. The descheduler ignores further ones."""
    for number, entry in enumerate(as_list(profile.get("pluginConfig"))):
        if isinstance(entry, dict) and entry.get("name") == plugin:
            return entry, number
    return {}, None


def _is_enabled(profile: Json, plugin: str) -> bool:
    return plugin in as_list(get_at_path(profile, ("plugins", PLUGINS[plugin].point, "enabled")))


def _list_profiles(data: Json) -> list[Json]:
    return ITEMS.list_items(data)[:MOST_PROFILES]


def _profile_field(number: int, profile: Json) -> FormField:
    """Return a group with the profile's name, and a group for each plugin with a switch and its arguments."""
    name, path = f"profile.{number}", ("profiles", number)
    group = FormField("group", name, f"Profile {profile.get('name') or number + 1}", path=path)
    group.fields = [
        arguments.form_field(NAME, f"{name}.name", "Name", profile.get("name", ABSENT), ABSENT, (*path, "name"))
    ]
    group.fields += [_plugin_field(f"{name}.{plugin}", plugin, profile, path) for plugin in NAMES]
    return group


def _plugin_field(name: str, plugin: str, profile: Json, path: Path) -> FormField:
    config, number = _find_config(profile, plugin)
    of_config: Path = (*path, "pluginConfig", plugin if number is None else number)
    args = config.get("args", ABSENT)
    args_field = arguments.form_field(schema_of(plugin), f"{name}.args", plugin, args, ABSENT, (*of_config, "args"))
    point = PLUGINS[plugin].point
    group = FormField("group", name, plugin, help=PLUGINS[plugin].args.help, path=of_config)
    if point != FILTER:
        at_point: Path = (*path, "plugins", point, "enabled")
        runs = arguments.form_field(
            RUNS, f"{name}.runs", "Runs", _is_enabled(profile, plugin) or ABSENT, False, at_point
        )
        runs.help = f"At {point}."
        group.fields.append(runs)
    group.fields += args_field.fields
    return group
