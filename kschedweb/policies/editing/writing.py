"""Writes a posted form of a profile into its document.

A posted form is compared with the document from which it was filled (the base), and only differences are written into
the posted document. So a person can change fields and YAML at once, and neither overwrites the other.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kschedweb.engine.documents.marked import parse
from kschedweb.policies.editing import arguments, extenders, load_aware
from kschedweb.policies.editing.arguments import ABSENT, Posted
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.form import GENERAL, PROFILE
from kschedweb.policies.editing.rows import args_of, config_index, unknown, weight_entry
from kschedweb.policies.editing.switches import (
    Effective,
    as_dict,
    as_list,
    default_points,
    effective,
    with_order,
    with_plugin,
    without_plugin,
)
from kschedweb.policies.editing.tables import Tables, tables


def apply(text: str, base: str, posted: Posted, index: int, of: Tables | None = None) -> str:
    """``text`` with the changes of ``posted`` relative to the form of profile ``index`` of ``base``.

    ``of`` are the tables that the form was made with: a release chosen in it is shown by the next one.
    Raises ``DocumentError`` if one of the two is not a YAML document.
    """
    of = of or tables()
    data, shown = parse(text).data, as_dict(parse(base).data)
    target = deepcopy(as_dict(data))
    _write_plain(target, shown, posted, "general", of.properties("KubeSchedulerConfiguration"), GENERAL)
    extenders.write(target, shown, posted, of)
    profiles = as_list(target.get("profiles"))
    shown_profiles = as_list(shown.get("profiles"))
    shown_profile = as_dict(shown_profiles[index]) if index < len(shown_profiles) else {}
    profile = as_dict(profiles[index]) if index < len(profiles) else {}
    changed = deepcopy(profile)
    _write_plain(changed, shown_profile, posted, "profile", of.properties("KubeSchedulerProfile"), PROFILE)
    shown_points = effective(shown_profile.get("plugins"), of)
    for name in of.plugins:
        _write_plugin(changed, shown_profile, shown_points, posted, name, of)
    _write_order(changed, shown_points, posted, of)
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
    elif plugin in unknown(profile, of):
        _set_plugins(profile, without_plugin(profile.get("plugins"), plugin, of))
    else:
        return text
    _write_arguments(profile, plugin, ABSENT, of)
    return rewrite(text, data | {"profiles": [*profiles[:index], profile, *profiles[index + 1 :]]})


def move(text: str, index: int, asked: str, of: Tables) -> str:
    """``text`` with a plugin of profile ``index`` called one place earlier or later.

    ``asked``: extension point, plugin, and "up" or "down", as ``score ImageLocality up``.
    """
    data = as_dict(parse(text).data)
    profiles = as_list(data.get("profiles")) or [{}]
    point, _, rest = asked.partition(" ")
    name, _, way = rest.rpartition(" ")
    profile = deepcopy(as_dict(profiles[index])) if index < len(profiles) else {}
    order = list(effective(profile.get("plugins"), of).get(point, {}))
    if name not in order:
        return text
    place = order.index(name)
    other = place - 1 if way == "up" else place + 1
    if not 0 <= other < len(order):
        return text
    order[place], order[other] = order[other], order[place]
    _set_plugins(profile, with_order(profile.get("plugins"), point, order, of))
    return rewrite(text, data | {"profiles": [*profiles[:index], profile, *profiles[index + 1 :]]})


def _write_order(profile: dict[str, Any], shown_now: Effective, posted: Posted, of: Tables) -> None:
    for point in of.points:
        order = posted.get(f"order.{point}", "").split()
        if order and order != list(shown_now[point]):
            _set_plugins(profile, with_order(profile.get("plugins"), point, order, of))


def _write_plain(
    target: dict[str, Any],
    shown: dict[str, Any],
    posted: Posted,
    prefix: str,
    schema: dict[str, Any],
    names: tuple[str, ...],
) -> None:
    for name in names:
        if not any(key == f"{prefix}.{name}" or key.startswith(f"{prefix}.{name}.") for key in posted):
            continue
        old = arguments.shown_value(schema[name], shown.get(name, ABSENT))
        new = arguments.read(schema[name], f"{prefix}.{name}", posted)
        value = arguments.overlay(old, new, target.get(name, ABSENT))
        if value is ABSENT:
            target.pop(name, None)
        else:
            target[name] = value


def _write_plugin(
    profile: dict[str, Any], shown: dict[str, Any], shown_now: Effective, posted: Posted, name: str, of: Tables
) -> None:
    points = frozenset(point for point in of.points if f"on.{name}.{point}" in posted)
    shown_points = frozenset(point for point in of.points if name in shown_now[point])
    weight = posted.get(f"weight.{name}", "").strip()
    shown_weight = weight_entry(shown.get("plugins"), name, of)[0]
    weight_changed = f"weight.{name}" in posted and weight != ("" if shown_weight is ABSENT else str(shown_weight))
    if points != shown_points or weight_changed:
        _write_switches(profile, name, points if points != shown_points else None, weight, weight_changed, of)
    schema = of.args_schema(name)
    if schema is not None:
        old = arguments.shown_value(schema, args_of(shown, name))
        new = arguments.read(schema, f"args.{name}", posted)
        if old != new:
            _write_arguments(profile, name, arguments.overlay(old, new, args_of(profile, name)), of)


def _write_switches(
    profile: dict[str, Any], name: str, points: frozenset[str] | None, weight: str, weight_changed: bool, of: Tables
) -> None:
    now = effective(profile.get("plugins"), of)
    if points is None:
        points = frozenset(point for point in of.points if name in now[point])
    if weight_changed:
        wanted: Any = arguments.number(weight) if weight else None
    else:
        kept = weight_entry(profile.get("plugins"), name, of)[0]
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
        load_aware.completed(name, value, as_dict(args_of(profile, name)), of.default_arguments.get(name, {}))
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
        keep = [entry] if "args" in entry or entry.keys() != {"name"} else []
        configs = [*configs[:index], *keep, *configs[index + 1 :]]
    if configs:
        profile["pluginConfig"] = configs
    else:
        profile.pop("pluginConfig", None)
