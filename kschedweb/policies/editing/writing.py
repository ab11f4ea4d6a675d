"""Writes a posted form of a profile into its document.

A posted form is compared with the document from which it was filled (the base), and only differences are written into
the posted document. So a person can change fields and YAML at once, and neither overwrites the other.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.policies.editing import arguments, extenders, load_aware
from kschedweb.policies.editing.arguments import ABSENT, Posted
from kschedweb.policies.editing.form import GENERAL, PROFILE
from kschedweb.policies.editing.plugin_rows import args_of, config_index, unknown_plugins, weight_entry
from kschedweb.policies.editing.release_tables import Tables, load_tables
from kschedweb.policies.editing.switches import (
    Effective,
    as_dict,
    as_list,
    default_points,
    merge_plugins,
    with_order,
    with_plugin,
    without_plugin,
)
from kschedweb.policies.editing.yaml_edits import rewrite_yaml


def apply_form(text: str, base: str, posted: Posted, index: int, tables: Tables | None = None) -> str:
    """Return ``text`` with the changes that ``posted`` makes to the form of profile ``index`` of ``base``.

    ``tables`` are the tables that the form was made with. A release chosen in the form counts from the next form on.
    Raises ``MarkedDocumentError`` if one of the two is not a YAML document.
    """
    tables = tables or load_tables()
    data, base_data = parse_document(text).data, as_dict(parse_document(base).data)
    target = deepcopy(as_dict(data))
    _write_plain(target, base_data, posted, "general", tables.properties_of("KubeSchedulerConfiguration"), GENERAL)
    extenders.write_extenders(target, base_data, posted, tables)
    profiles = as_list(target.get("profiles"))
    shown_profiles = as_list(base_data.get("profiles"))
    shown_profile = as_dict(shown_profiles[index]) if index < len(shown_profiles) else {}
    profile = as_dict(profiles[index]) if index < len(profiles) else {}
    changed = deepcopy(profile)
    _write_plain(changed, shown_profile, posted, "profile", tables.properties_of("KubeSchedulerProfile"), PROFILE)
    shown_points = merge_plugins(shown_profile.get("plugins"), tables)
    for name in tables.plugins:
        _write_plugin(changed, shown_profile, shown_points, posted, name, tables)
    _write_order(changed, shown_points, posted, tables)
    if changed != profile:
        target["profiles"] = [*profiles[:index], changed, *profiles[index + 1 :]]
    return text if target == as_dict(data) else rewrite_yaml(text, target)


def add_profile(text: str) -> str:
    """Return ``text`` with one more profile with a new name."""
    data = as_dict(parse_document(text).data)
    profiles = as_list(data.get("profiles")) or [{"schedulerName": "default-scheduler"}]
    used = {as_dict(profile).get("schedulerName", "default-scheduler") for profile in profiles}
    name = next(name for number in range(2, 1_000_000) if (name := f"scheduler-{number}") not in used)
    # With a second profile each must have a name.
    named_profiles = [{"schedulerName": "default-scheduler"} | as_dict(profile) for profile in profiles]
    return rewrite_yaml(text, data | {"profiles": [*named_profiles, {"schedulerName": name}]})


def remove_profile(text: str, index: int) -> str:
    """Return ``text`` without profile ``index``, unless it is the only one."""
    data = as_dict(parse_document(text).data)
    profiles = as_list(data.get("profiles"))
    if len(profiles) < 2 or index >= len(profiles):
        return text
    return rewrite_yaml(text, data | {"profiles": [*profiles[:index], *profiles[index + 1 :]]})


def reset_plugin(text: str, index: int, plugin: str, tables: Tables | None = None) -> str:
    """Return ``text`` without entries and arguments of ``plugin`` in profile ``index``."""
    tables = tables or load_tables()
    data = as_dict(parse_document(text).data)
    profiles = as_list(data.get("profiles"))
    profile = deepcopy(as_dict(profiles[index])) if index < len(profiles) else {}
    if plugin in tables.plugins and profile:
        points = frozenset(point for point in tables.points_of(plugin) if plugin in default_points(tables)[point])
        _write_switches(profile, plugin, points, "", True, tables)
    elif plugin in unknown_plugins(profile, tables):
        _set_plugins(profile, without_plugin(profile.get("plugins"), plugin, tables))
    else:
        return text
    _write_arguments(profile, plugin, ABSENT, tables)
    return rewrite_yaml(text, data | {"profiles": [*profiles[:index], profile, *profiles[index + 1 :]]})


def move_plugin(text: str, index: int, command: str, tables: Tables) -> str:
    """Return ``text`` with a plugin of profile ``index`` called one place earlier or later.

    ``command`` is the extension point, the plugin, and "up" or "down", as "score ImageLocality up".
    """
    data = as_dict(parse_document(text).data)
    profiles = as_list(data.get("profiles")) or [{}]
    point, _, remainder = command.partition(" ")
    name, _, way = remainder.rpartition(" ")
    profile = deepcopy(as_dict(profiles[index])) if index < len(profiles) else {}
    order = list(merge_plugins(profile.get("plugins"), tables).get(point, {}))
    if name not in order:
        return text
    place = order.index(name)
    other = place - 1 if way == "up" else place + 1
    if not 0 <= other < len(order):
        return text
    order[place], order[other] = order[other], order[place]
    _set_plugins(profile, with_order(profile.get("plugins"), point, order, tables))
    return rewrite_yaml(text, data | {"profiles": [*profiles[:index], profile, *profiles[index + 1 :]]})


def _write_order(profile: Json, shown_now: Effective, posted: Posted, tables: Tables) -> None:
    for point in tables.points:
        order = posted.get(f"order.{point}", "").split()
        if order and order != list(shown_now[point]):
            _set_plugins(profile, with_order(profile.get("plugins"), point, order, tables))


def _write_plain(
    target: Json,
    base_data: Json,
    posted: Posted,
    prefix: str,
    schema: Json,
    names: tuple[str, ...],
) -> None:
    for name in names:
        if not any(key == f"{prefix}.{name}" or key.startswith(f"{prefix}.{name}.") for key in posted):
            continue
        old = arguments.shown_value(schema[name], base_data.get(name, ABSENT))
        new = arguments.read_value(schema[name], f"{prefix}.{name}", posted)
        value = arguments.overlay_changes(old, new, target.get(name, ABSENT))
        if value is ABSENT:
            target.pop(name, None)
        else:
            target[name] = value


def _write_plugin(
    profile: Json,
    base_profile: Json,
    shown_now: Effective,
    posted: Posted,
    name: str,
    tables: Tables,
) -> None:
    points = frozenset(point for point in tables.points if f"on.{name}.{point}" in posted)
    shown_points = frozenset(point for point in tables.points if name in shown_now[point])
    weight = posted.get(f"weight.{name}", "").strip()
    shown_weight = weight_entry(base_profile.get("plugins"), name, tables)[0]
    weight_changed = f"weight.{name}" in posted and weight != ("" if shown_weight is ABSENT else str(shown_weight))
    if points != shown_points or weight_changed:
        _write_switches(profile, name, points if points != shown_points else None, weight, weight_changed, tables)
    schema = tables.args_schema(name)
    if schema is not None:
        old = arguments.shown_value(schema, args_of(base_profile, name))
        new = arguments.read_value(schema, f"args.{name}", posted)
        if old != new:
            _write_arguments(profile, name, arguments.overlay_changes(old, new, args_of(profile, name)), tables)


def _write_switches(
    profile: Json, name: str, points: frozenset[str] | None, weight: str, weight_changed: bool, tables: Tables
) -> None:
    now = merge_plugins(profile.get("plugins"), tables)
    if points is None:
        points = frozenset(point for point in tables.points if name in now[point])
    if weight_changed:
        new_weight: Any = arguments.parse_number(weight) if weight else None
    else:
        current_weight = weight_entry(profile.get("plugins"), name, tables)[0]
        new_weight = None if current_weight is ABSENT else current_weight
    _set_plugins(profile, with_plugin(profile.get("plugins"), name, points, new_weight, tables))


def _set_plugins(profile: Json, plugins: Json) -> None:
    # An explicit empty set that the author wrote stays; one that became empty goes.
    if plugins or profile.get("plugins") == {}:
        profile["plugins"] = plugins
    else:
        profile.pop("plugins", None)


def _write_arguments(profile: Json, name: str, value: Any, tables: Tables) -> None:
    if value is not ABSENT and name == "NodeResourcesFit" and as_dict(value.get("scoringStrategy")):
        # kube-scheduler defaults the type only if the whole strategy is absent.
        value["scoringStrategy"].setdefault("type", "LeastAllocated")
    if value is not ABSENT:
        load_aware.complete_group(name, value, as_dict(args_of(profile, name)), tables.default_arguments.get(name, {}))
    index = config_index(profile, name)
    configs = as_list(profile.get("pluginConfig"))
    if index is None:
        if value is ABSENT:
            return
        configs = [*configs, {"name": name, "args": value}]
    else:
        entry = {key: item for key, item in configs[index].items() if key != "args"}
        if value is not ABSENT:
            entry["args"] = value
        # An entry that is left with its name alone says nothing, so it is removed.
        keep = [entry] if "args" in entry or entry.keys() != {"name"} else []
        configs = [*configs[:index], *keep, *configs[index + 1 :]]
    if configs:
        profile["pluginConfig"] = configs
    else:
        profile.pop("pluginConfig", None)
