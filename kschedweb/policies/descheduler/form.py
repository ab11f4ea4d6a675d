"""The form of a DeschedulerPolicy: limits, and for each profile which plugins run, with their arguments."""

from __future__ import annotations

from functools import cache
from typing import Any

from kschedweb.engine.documents.json_schema import Schemas
from kschedweb.engine.documents.marked import MarkedProblem, Path
from kschedweb.engine.rebalancing.document import POLICY
from kschedweb.engine.rebalancing.handle import FILTER
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field, Posted, Schema
from kschedweb.policies.editing.documents import Items, at, changed, put
from kschedweb.policies.editing.plain import place
from kschedweb.policies.editing.switches import as_list
from kschedweb.web.translating import gettext_lazy as _

SCHEMA = Schemas().struct(POLICY)["properties"]
LABELS = {
    "nodeSelector": _("Only nodes with these labels"),
    "maxNoOfPodsToEvictTotal": _("Most evictions in a cycle"),
    "maxNoOfPodsToEvictPerNode": _("Most evictions from a node"),
    "maxNoOfPodsToEvictPerNamespace": _("Most evictions from a namespace"),
}
NAME: Schema = {"type": "string", "description": "The name of the profile."}
RUNS: Schema = {"type": "boolean", "description": "Whether the plugin runs."}
EVICTOR = defaultevictor.NAME
NAMES = (EVICTOR, *(name for name in PLUGINS if name != EVICTOR))
MOST_PROFILES = 20
CHOICES = {"noEvictionPolicy": list(defaultevictor.POLICIES)}
Json = dict[str, Any]
# A new profile evicts nothing before a plugin of it is switched on.
ITEMS = Items("profiles", "profile", lambda name: {"name": name}, lambda profile: profile.get("name"))


@cache
def schema_of(plugin: str) -> Schema:
    """The arguments of a plugin as one input each; selectors are edited as YAML."""
    found = _plain("", Schemas().struct(PLUGINS[plugin].args))
    return {**found, "properties": {key: one for key, one in found["properties"].items() if key not in _TYPED}}


_TYPED = ("kind", "apiVersion")


def _plain(name: str, schema: Schema) -> Schema:
    inner = schema.get("properties")
    if name in CHOICES:
        return {**schema, "enum": CHOICES[name]}
    if not inner:
        return schema
    if "matchExpressions" in inner:
        return {"description": f"{schema.get('description', '')} As YAML: matchLabels, matchExpressions.".strip()}
    return {**schema, "properties": {key: _plain(key, one) for key, one in inner.items()}}


def fields(data: Json, problems: list[MarkedProblem]) -> list[Field]:
    """A field for each limit and a group for each profile, with ``problems`` beside them."""
    found = []
    for name, label in LABELS.items():
        found.append(arguments.form_field(SCHEMA[name], name, label, data.get(name, ABSENT), ABSENT, (name,)))
    found += [_profile(number, one) for number, one in enumerate(_profiles(data))]
    place(problems, [inner for one in found for inner in one.walk()])
    return found


def write(target: Json, shown: Json, posted: Posted) -> None:
    """Put what a person changed of the form, which showed ``shown``, into ``target``."""
    for name in LABELS:
        put(target, (name,), changed(SCHEMA[name], name, at(shown, (name,)), at(target, (name,)), posted))
    before = _profiles(shown)
    for number, profile in enumerate(_profiles(target)[: len(before)]):
        prefix, old = f"profile.{number}", before[number]
        if not any(key.startswith(f"{prefix}.") for key in posted):
            continue
        name = changed(NAME, f"{prefix}.name", at(old, ("name",)), at(profile, ("name",)), posted)
        put(profile, ("name",), name)
        for plugin in NAMES:
            _write_plugin(profile, old, plugin, prefix, posted)


def _write_plugin(profile: Json, old: Json, plugin: str, prefix: str, posted: Posted) -> None:
    schema, name = schema_of(plugin), f"{prefix}.{plugin}"
    shown, _ = _config(old, plugin)
    current, _ = _config(profile, plugin)
    args = changed(schema, f"{name}.args", at(shown, ("args",)), at(current, ("args",)), posted)
    if args is not ABSENT or at(current, ("args",)) is not ABSENT:
        _entry(profile, plugin)["args"] = {} if args is ABSENT else args
    if plugin == EVICTOR:
        return
    was, runs = _runs(old, plugin), posted.get(f"{name}.runs") == "true"
    if was != runs and _runs(profile, plugin) != runs:
        _switch(profile, plugin, runs=runs)


def _switch(profile: Json, plugin: str, *, runs: bool) -> None:
    """A plugin that runs must have an entry in pluginConfig, be it empty."""
    path: Path = ("plugins", PLUGINS[plugin].point, "enabled")
    enabled = as_list(at(profile, path))
    if runs:
        put(profile, path, [*enabled, plugin])
        _entry(profile, plugin).setdefault("args", {})
    else:
        put(profile, path, [one for one in enabled if one != plugin])


def _entry(profile: Json, plugin: str) -> Json:
    """The entry of a plugin in pluginConfig, which is made where there is none."""
    found, number = _config(profile, plugin)
    if number is None:
        found = {"name": plugin}
        profile["pluginConfig"] = [*as_list(profile.get("pluginConfig")), found]
    return found


def _config(profile: Json, plugin: str) -> tuple[Json, int | None]:
    """The first entry of a plugin in pluginConfig and its place; the descheduler looks at no other."""
    for number, one in enumerate(as_list(profile.get("pluginConfig"))):
        if isinstance(one, dict) and one.get("name") == plugin:
            return one, number
    return {}, None


def _runs(profile: Json, plugin: str) -> bool:
    return plugin in as_list(at(profile, ("plugins", PLUGINS[plugin].point, "enabled")))


def _profiles(data: Json) -> list[Json]:
    return ITEMS.of(data)[:MOST_PROFILES]


def _profile(number: int, profile: Json) -> Field:
    """A group with the profile's name, and a group for each plugin: whether it runs, and its arguments."""
    name, path = f"profile.{number}", ("profiles", number)
    group = Field("group", name, f"Profile {profile.get('name') or number + 1}", path=path)
    group.fields = [
        arguments.form_field(NAME, f"{name}.name", "Name", profile.get("name", ABSENT), ABSENT, (*path, "name"))
    ]
    group.fields += [_plugin(f"{name}.{plugin}", plugin, profile, path) for plugin in NAMES]
    return group


def _plugin(name: str, plugin: str, profile: Json, path: Path) -> Field:
    config, number = _config(profile, plugin)
    of_config: Path = (*path, "pluginConfig", plugin if number is None else number)
    args = config.get("args", ABSENT)
    made = arguments.form_field(schema_of(plugin), f"{name}.args", plugin, args, ABSENT, (*of_config, "args"))
    point = PLUGINS[plugin].point
    group = Field("group", name, plugin, help=PLUGINS[plugin].args.help, path=of_config)
    if point != FILTER:
        at_point: Path = (*path, "plugins", point, "enabled")
        runs = arguments.form_field(RUNS, f"{name}.runs", "Runs", _runs(profile, plugin) or ABSENT, False, at_point)
        runs.help = f"At {point}."
        group.fields.append(runs)
    group.fields += made.fields
    return group
