"""Conversion of one profile of a version before v1 to a profile of v1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE, Note
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.older.removed_plugins import (
    AFFINITY,
    FAMILIES,
    FIT,
    LEAST_ALLOCATED,
    NODE_LABEL,
    REMOVED_PLUGINS,
    REPLACEMENT_TEXTS,
    SPREAD,
    SPREADS,
    STANDS_FOR,
    STRATEGIES,
)
from kschedweb.engine.releases.older.versions import Version
from kschedweb.engine.values import dataclass

ALL = "*"
# The largest weight of a preferred term.
MAX_TERM_WEIGHT = 100
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MULTIPOINT = "multiPoint"
# The default plugin of each point at which it comes back if the plugin in its place is left out.
DEFAULTS = {"queueSort": "PrioritySort", "bind": "DefaultBinder", "postFilter": "DefaultPreemption"}


def as_dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def entry_name(value: Any) -> str:
    """Return the name of an entry; "" if it has none that is text."""
    name = as_dict(value).get("name")
    return name if isinstance(name, str) else ""


@dataclass(slots=True)
class ProfileConversion:
    """The conversion of one profile."""

    version: Version
    release: Release
    # The profile as it was written.
    source: Json
    # Its path in the document; "" before v1alpha2, which had no list of profiles.
    path: str
    notes: list[Note] = field(default_factory=list)
    # The plugin of then whose scoring strategy NodeResourcesFit takes over; "" if none.
    strategy: str = ""
    # Pods without constraints of their own were spread.
    spreads: bool = True
    # Unknown plugins that are left out, by their extension point.
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def convert(self) -> Json:
        """Return the profile of v1. Values that are not understood stay as they are."""
        result = dict(self.source)
        plugin_sets = result.get("plugins")
        if plugin_sets is not None and not isinstance(plugin_sets, dict):
            return result  # which v1 refuses in its own words
        plugins = self._convert_plugins(as_dict(plugin_sets))
        result.pop("plugins", None)
        if plugins:
            result["plugins"] = plugins
        configs = self._convert_configs(as_dict(plugin_sets))
        if configs or "pluginConfig" in result:
            result["pluginConfig"] = configs
        return result

    def add_note(self, path: str, name: str, kind: str, text: str, *plugins: str) -> None:
        self.notes.append(Note(f"{self.path}.{path}" if self.path else path, name, kind, text, plugins))

    # --- plugins

    def _convert_plugins(self, plugin_sets: Json) -> Json:
        result: Json = {}
        for point, value in self._rename_points(plugin_sets).items():
            if not isinstance(value, dict) or point not in self.release.schema.plugin_sets:
                result[point] = value
            elif point == "score":
                result |= self._non_empty(point, self._convert_scores(value))
            elif point == MULTIPOINT and not self.version.is_multipoint:
                result |= self._non_empty(point, self._convert_multipoint(value))
            else:
                result |= self._non_empty(point, self._convert_set(point, value))
        if "score" not in plugin_sets:
            self._convert_scores({})
        if weights := self._default_weights(as_dict(plugin_sets.get("score"))):
            everywhere = dict(as_dict(result.get(MULTIPOINT)))
            result[MULTIPOINT] = {**everywhere, "enabled": [*weights, *as_list(everywhere.get("enabled"))]}
        self._restore_defaults(result)
        return result

    def _restore_defaults(self, plugins: Json) -> None:
        """Enable default plugins again whose place had been taken by unknown plugins, which are left out."""
        for point, default in DEFAULTS.items():
            foreign = self.left_out.get(point, [])
            if point != "postFilter":  # which a profile can do without, and which not every plugin has
                foreign = [*foreign, *self.left_out.get(MULTIPOINT, [])]
            if not foreign or self._has_at(point, default, plugins):
                continue
            plugins[point] = {**as_dict(plugins.get(point)), "enabled": [{"name": default}]}
            text = f"Without {', '.join(dict.fromkeys(foreign))} there is none: the default is back."
            self.add_note(f"plugins.{point}", default, NEAR, text, default)

    def _has_at(self, point: str, default: str, plugins: Json) -> bool:
        """Return whether the default plugin, or another in its place, runs at a point of the converted profile."""
        at_point, everywhere = as_dict(plugins.get(point)), as_dict(plugins.get(MULTIPOINT))
        if as_list(at_point.get("enabled")):
            return True
        off, all_off = (
            {entry_name(entry) for entry in as_list(part.get("disabled"))} for part in (at_point, everywhere)
        )
        names = {default} if not {default, ALL} & all_off else set()
        names |= {entry_name(entry) for entry in as_list(everywhere.get("enabled"))}
        specs = (self.release.registry.get(name) for name in names if not {name, ALL} & off)
        return any(spec is not None and point in spec.points for spec in specs)

    @staticmethod
    def _non_empty(point: str, plugin_set: Json) -> Json:
        return {point: plugin_set} if plugin_set else {}

    def _rename_points(self, plugin_sets: Json) -> Json:
        """Return the sets at the extension points of today."""
        result = dict(plugin_sets)
        if "preScore" not in self.version.points and "postFilter" in result:
            result["preScore"] = result.pop("postFilter")
            self.add_note("plugins.postFilter", "postFilter", EQUAL, "It is called preScore now.")
        if "unreserve" in result and "unreserve" in self.version.points:
            undone, reserve = as_dict(result.pop("unreserve")), dict(as_dict(result.get("reserve")))
            for key, entries in undone.items():
                names = {entry_name(entry) for entry in as_list(reserve.get(key))}
                reserve[key] = [
                    *as_list(reserve.get(key)),
                    *(entry for entry in as_list(entries) if entry_name(entry) not in names),
                ]
            result["reserve"] = reserve
            self.add_note(
                "plugins.unreserve", "unreserve", EQUAL, "A plugin at reserve undoes it, too: both are reserve."
            )
        return result

    def _convert_set(self, point: str, plugin_set: Json) -> Json:
        """Return the converted set of a point at which nothing is scored."""
        result: Json = {key: value for key, value in plugin_set.items() if key not in ("enabled", "disabled")}
        listed = as_list(plugin_set.get("disabled"))
        everything = any(entry_name(entry) == ALL for entry in listed)
        enabled: list[Any] = []
        for index, entry in enumerate(as_list(plugin_set.get("enabled"))):
            name, path = entry_name(entry), f"plugins.{point}.enabled[{index}]"
            stands = STANDS_FOR.get(name, name)
            if self._is_gone(name, path):
                continue
            if stands != name:
                spec = self.release.in_tree_plugins.get(stands)
                fits = spec is not None and (point == MULTIPOINT or point in spec.points)
                self.add_note(path, name, NEAR, REPLACEMENT_TEXTS[stands], stands)
                if not (everything and fits) or any(entry_name(other) == stands for other in enabled):
                    continue
            enabled.append(entry if stands == name else {**entry, "name": stands})
        disabled = [
            entry
            for index, entry in enumerate(listed)
            if not self._is_left_out(entry, f"plugins.{point}.disabled[{index}]")
        ]
        return result | ({"enabled": enabled} if enabled else {}) | ({"disabled": disabled} if disabled else {})

    def _is_left_out(self, entry: Any, path: str) -> bool:
        """Return whether the entry of a list of disabled plugins is left out."""
        name = entry_name(entry)
        if name in STANDS_FOR:
            stands = STANDS_FOR[name]
            text = f"{stands} stands for it, and for more: it stays, and goes where it is disabled by its own name."
            self.add_note(path, name, NEAR, text, stands)
        return name in STANDS_FOR or self._is_gone(name, path, enabled=False)

    def _is_gone(self, name: str, path: str, *, enabled: bool = True) -> bool:
        """Return whether no plugin replaces this one, and note it."""
        if name in REMOVED_PLUGINS:
            kind, text = REMOVED_PLUGINS[name] if enabled else (EQUAL, "The plugin is no more: it stays disabled.")
            self.add_note(path, name, kind, text)
            return True
        if not name or name == ALL or name in STANDS_FOR or self.release.registry.get(name):
            return False
        text = "It is no plugin of kube-scheduler, and is not known here: it is left out."
        self.add_note(path, name, NONE if enabled else EQUAL, text)
        if enabled and path.startswith("plugins."):
            self.left_out.setdefault(path.split(".")[1], []).append(name)
        return True

    def _convert_scores(self, plugin_set: Json) -> Json:
        """Return the set of the scores.

        It also finds the scoring strategy, and whether pods are spread without constraints.
        """
        result: Json = {key: value for key, value in plugin_set.items() if key not in ("enabled", "disabled")}
        listed, requested = as_list(plugin_set.get("disabled")), as_list(plugin_set.get("enabled"))
        off = {entry_name(entry) for entry in listed}
        running = {} if ALL in off else {n: weight for n, weight in self.version.scores.items() if n not in off}
        explicit: dict[str, Json] = {}
        for index, entry in enumerate(requested):
            name, path = entry_name(entry), f"plugins.score.enabled[{index}]"
            if self._is_gone(name, path):
                continue
            if name in running and not self.version.replaces:
                text = f"kube-scheduler {self.version.last} asked to disable it first; now its weight is replaced."
                self.add_note(path, name, NEAR, text)
            weight = as_dict(entry).get("weight")
            running[name] = weight if isinstance(weight, int) and weight else 1
            explicit[name] = entry
        self._note_replaced_defaults([name for name in running if name not in explicit])
        self.spreads = not {*SPREADS} & self.version.scores.keys() or any(name in running for name in SPREADS)
        enabled, taken_out = self._merge_families(running, explicit, off)
        disabled = []
        for index, entry in enumerate(listed):
            name, path = entry_name(entry), f"plugins.score.disabled[{index}]"
            stands = STANDS_FOR.get(name, name)
            if stands in FAMILIES and ALL not in off:
                if stands != name:
                    self.add_note(path, name, EQUAL if stands in taken_out else NEAR, REPLACEMENT_TEXTS[stands], stands)
                elif any(entry_name(other) == name for other in enabled):
                    disabled.append(entry)
                continue
            if not self._is_left_out(entry, path):
                disabled.append(entry)
        disabled += [{"name": name} for name in taken_out if ALL not in off]
        return result | ({"enabled": enabled} if enabled else {}) | ({"disabled": disabled} if disabled else {})

    def _note_replaced_defaults(self, running: Iterable[str]) -> None:
        """Note the default scoring plugins that have another name now, or were removed."""
        for name in running:
            if name in REMOVED_PLUGINS:
                self.add_note("plugins.score", name, *REMOVED_PLUGINS[name])
            elif name in STANDS_FOR:
                kind = EQUAL if STANDS_FOR[name] == FIT else NEAR
                self.add_note("plugins.score", name, kind, REPLACEMENT_TEXTS[STANDS_FOR[name]], STANDS_FOR[name])

    def _merge_families(
        self, running: Mapping[str, int], explicit: Mapping[str, Json], off: set[str]
    ) -> tuple[list[Any], list[str]]:
        """Return the entries of enabled plugins, and today's plugins without any running part.

        Of several plugins that one of today's replaces, the heaviest is kept.
        """
        chosen: dict[str, str] = {}
        taken_out: list[str] = []
        for stands, members in FAMILIES.items():
            running_members = [name for name in members if name in running]
            if running_members:
                chosen[stands] = max(running_members, key=lambda name: running[name])
            elif off & {*members} or ALL in off:
                taken_out.append(stands)
        strategy = chosen.get(FIT, "")
        self.strategy = strategy if strategy in STRATEGIES else ""
        enabled: list[Any] = []
        for name, entry in explicit.items():
            stands = STANDS_FOR.get(name, name)
            path = f"plugins.score.enabled[{list(explicit).index(name)}]"
            if stands in chosen and chosen[stands] != name:
                kept_one = chosen[stands]
                text = f"Only one of {name} and {kept_one} can be kept: {kept_one}, which weighs as much or more."
                self.add_note(path, name, NONE, text, stands)
                continue
            if stands != name:
                self.add_note(path, name, EQUAL if stands == FIT else NEAR, REPLACEMENT_TEXTS[stands], stands)
            enabled.append(entry if stands == name else {**entry, "name": stands})
        return enabled, taken_out

    def _convert_multipoint(self, plugin_set: Json) -> Json:
        """Return the set of a version whose default plugins were named at each point, out of reach of multiPoint."""
        enabled = []
        defaults = {ref.name for ref in self.release.in_tree_plugins.defaults}
        for index, entry in enumerate(as_list(plugin_set.get("enabled"))):
            if entry_name(entry) in defaults:
                text = "It ran at its extension points already, so this did nothing; it is left out."
                self.add_note(f"plugins.multiPoint.enabled[{index}]", entry_name(entry), EQUAL, text)
            elif not self._is_gone(entry_name(entry), f"plugins.multiPoint.enabled[{index}]"):
                enabled.append(entry)
        for index, entry in enumerate(as_list(plugin_set.get("disabled"))):
            text = "The default plugins were named at each extension point, so this did nothing; it is left out."
            self.add_note(f"plugins.multiPoint.disabled[{index}]", entry_name(entry), EQUAL, text)
        return {"enabled": enabled} if enabled else {}

    def _default_weights(self, score: Json) -> list[Json]:
        """Return entries for the plugins that score by default with another weight then than now."""
        off = {entry_name(entry) for entry in as_list(score.get("disabled"))}
        explicit = {STANDS_FOR.get(entry_name(entry), entry_name(entry)) for entry in as_list(score.get("enabled"))}
        today = {ref.name: ref.weight for ref in self.release.in_tree_plugins.defaults}
        entries = []
        for name, weight in self.version.scores.items():
            stands = STANDS_FOR.get(name, name)
            if ALL in off or name in off or stands in explicit or name != stands or today.get(name, weight) == weight:
                continue
            entries.append({"name": name, "weight": weight})
            text = f"It weighed {weight} by default, and weighs {today[name]} now: its weight is written down."
            self.add_note("plugins.score", name, EQUAL, text)
        return entries

    # --- arguments

    def _convert_configs(self, plugin_sets: Json) -> list[Any]:
        configs: list[Any] = []
        old: dict[str, Json] = {}
        for index, config in enumerate(as_list(self.source.get("pluginConfig"))):
            name, path = entry_name(config), f"pluginConfig[{index}]"
            args = as_dict(config).get("args")
            if name in STRATEGIES or name == NODE_LABEL:
                old[name] = as_dict(args)
                is_read = name == NODE_LABEL or name == self.strategy
                text = REPLACEMENT_TEXTS[FIT] if name != NODE_LABEL else REMOVED_PLUGINS[NODE_LABEL][1]
                self.add_note(
                    path, name, NEAR if is_read else NONE, text if is_read else "It does not score: not read."
                )
            elif name in STANDS_FOR:
                self.add_note(path, name, NONE, f"{STANDS_FOR[name]} stands for the plugin, with its own arguments.")
            elif not self._is_gone(name, path):
                configs.append({**config, "args": self._without_version(args)} if isinstance(args, dict) else config)
        self._set_scoring_strategy(configs, old)
        self._convert_node_label(configs, old, plugin_sets)
        self._set_defaulting_type(configs)
        return configs

    def _without_version(self, args: Json) -> Json:
        """Return arguments without the version, which is that of the document."""
        return {k: v for k, v in args.items() if not (k == "apiVersion" and v == self.version.api_version)}

    @staticmethod
    def _ensure_args(configs: list[Any], name: str) -> Json:
        """Return the arguments of a plugin as a value that may be changed. They are added if there are none."""
        entry = next((config for config in configs if entry_name(config) == name), None)
        if entry is None:
            entry = {"name": name}
            configs.append(entry)
        entry["args"] = dict(as_dict(entry.get("args")))
        args: Json = entry["args"]
        return args

    def _set_scoring_strategy(self, configs: list[Any], old: Mapping[str, Json]) -> None:
        if not self.strategy:
            return
        old_args = old.get(self.strategy, {})
        if (
            self.strategy == LEAST_ALLOCATED
            and not old_args.get("resources")
            and not any(entry_name(config) == FIT for config in configs)
        ):
            return  # as by default
        strategy: Json = {"type": STRATEGIES[self.strategy]}
        if old_args.get("resources"):
            strategy["resources"] = old_args["resources"]
        if "shape" in old_args:
            strategy["requestedToCapacityRatio"] = {"shape": old_args["shape"]}
        args = self._ensure_args(configs, FIT)
        if strategy != {"type": STRATEGIES[LEAST_ALLOCATED]} or "scoringStrategy" in args:
            args["scoringStrategy"] = strategy

    def _convert_node_label(self, configs: list[Any], old: Mapping[str, Json], plugin_sets: Json) -> None:
        """Convert NodeLabel to node affinity that is added to all pods."""
        label_args = old.get(NODE_LABEL, {})
        at = {point: self._node_label_weight(plugin_sets, point) for point in ("filter", "score")}
        required = _label_requirements(label_args, "presentLabels", "absentLabels") if at["filter"] else []
        preferred = (
            _label_requirements(label_args, "presentLabelsPreference", "absentLabelsPreference") if at["score"] else []
        )
        if not required and not preferred:
            return
        args = self._ensure_args(configs, AFFINITY)
        affinity = args["addedAffinity"] = dict(as_dict(args.get("addedAffinity")))
        if required:
            terms = as_list(as_dict(affinity.get(REQUIRED)).get("nodeSelectorTerms")) or [{}]
            joined = [{**t, "matchExpressions": [*as_list(t.get("matchExpressions")), *required]} for t in terms]
            affinity[REQUIRED] = {"nodeSelectorTerms": joined}
        if preferred:
            weight = min(at["score"], MAX_TERM_WEIGHT)
            terms = [{"weight": weight, "preference": {"matchExpressions": [requirement]}} for requirement in preferred]
            affinity[PREFERRED] = [*as_list(affinity.get(PREFERRED)), *terms]

    @staticmethod
    def _node_label_weight(plugin_sets: Json, point: str) -> int:
        """Return the weight of NodeLabel at ``point``; 0 if it does not run there."""
        for entry in as_list(as_dict(plugin_sets.get(point)).get("enabled")):
            if entry_name(entry) == NODE_LABEL:
                weight = entry.get("weight")
                return weight if isinstance(weight, int) and weight > 0 else 1
        return 0

    def _set_defaulting_type(self, configs: list[Any]) -> None:
        """Set ``defaultingType``: whether PodTopologySpread has constraints for pods without any."""
        spread_args = as_dict(
            next((as_dict(config).get("args") for config in configs if entry_name(config) == SPREAD), None)
        )
        by_list = bool(spread_args.get("defaultConstraints")) and not self.version.replaces
        if "defaultingType" in spread_args or not (by_list or not self.spreads):
            return
        args = self._ensure_args(configs, SPREAD)
        args |= {"defaultConstraints": as_list(spread_args.get("defaultConstraints")), "defaultingType": "List"}
        text = (
            "Constraints in a list have to be called List now."
            if by_list
            else "Pods without constraints were not spread: the list of constraints for them is empty."
        )
        self.add_note("pluginConfig", SPREAD, EQUAL, text)


def _label_requirements(args: Json, present: str, absent: str) -> list[Json]:
    """Return requirements that labels are present, and that others are absent."""

    def requirements(key: str, operator: str) -> Iterable[Json]:
        return ({"key": label, "operator": operator} for label in as_list(args.get(key)))

    return [*requirements(present, "Exists"), *requirements(absent, "DoesNotExist")]
