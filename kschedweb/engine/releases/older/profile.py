"""One profile of a version before v1 as a profile of v1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE, Note
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.older.names import (
    AFFINITY,
    FAMILIES,
    FIT,
    LEAST,
    LEFT,
    NODE_LABEL,
    SAID,
    SPREAD,
    SPREADS,
    STANDS_FOR,
    STRATEGIES,
)
from kschedweb.engine.releases.older.versions import Version
from kschedweb.engine.values import dataclass

ALL = "*"
MOST = 100  # the largest weight of a preferred term
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MULTIPOINT = "multiPoint"
DEFAULTS = {"queueSort": "PrioritySort", "bind": "DefaultBinder", "postFilter": "DefaultPreemption"}
"""The default plugin of points at which it comes back where a plugin that took its place is left out."""


def as_dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def named(value: Any) -> str:
    """The name of an entry; "" where it has none that is text."""
    name = as_dict(value).get("name")
    return name if isinstance(name, str) else ""


@dataclass(slots=True)
class ProfileConversion:
    """Converts ``given``, a profile at ``path`` in its document, which has no path of its own before v1alpha2."""

    version: Version
    release: Release
    given: Json
    path: str
    notes: list[Note] = field(default_factory=list)
    strategy: str = ""
    spreads: bool = True  # whether pods were spread without constraints of their own
    left_out: dict[str, list[str]] = field(default_factory=dict)  # plugins that nobody here knows, by their point

    def convert(self) -> Json:
        """The profile of v1, with values that are not understood left as they are."""
        made = dict(self.given)
        written = made.get("plugins")
        if written is not None and not isinstance(written, dict):
            return made  # which v1 refuses in its own words
        plugins = self._plugins(as_dict(written))
        made.pop("plugins", None)
        if plugins:
            made["plugins"] = plugins
        configs = self._configs(as_dict(written))
        if configs or "pluginConfig" in made:
            made["pluginConfig"] = configs
        return made

    def note(self, path: str, name: str, kind: str, text: str, *plugins: str) -> None:
        self.notes.append(Note(f"{self.path}.{path}" if self.path else path, name, kind, text, plugins))

    # --- plugins

    def _plugins(self, written: Json) -> Json:
        made: Json = {}
        for point, value in self._moved(written).items():
            if not isinstance(value, dict) or point not in self.release.schema.sets:
                made[point] = value
            elif point == "score":
                made |= self._filled(point, self._score(value))
            elif point == MULTIPOINT and not self.version.is_multipoint:
                made |= self._filled(point, self._multipoint(value))
            else:
                made |= self._filled(point, self._set(point, value))
        if "score" not in written:
            self._score({})
        if weights := self._default_weights(as_dict(written.get("score"))):
            everywhere = dict(as_dict(made.get(MULTIPOINT)))
            made[MULTIPOINT] = {**everywhere, "enabled": [*weights, *as_list(everywhere.get("enabled"))]}
        self._restore_defaults(made)
        return made

    def _restore_defaults(self, made: Json) -> None:
        """Enable the default plugins again that unknown ones, which are left out, had taken the place of."""
        for point, default in DEFAULTS.items():
            foreign = self.left_out.get(point, [])
            if point != "postFilter":  # which a profile can do without, and which not every plugin has
                foreign = [*foreign, *self.left_out.get(MULTIPOINT, [])]
            if not foreign or self._has_at(point, default, made):
                continue
            made[point] = {**as_dict(made.get(point)), "enabled": [{"name": default}]}
            said = f"Without {', '.join(dict.fromkeys(foreign))} there is none: the default is back."
            self.note(f"plugins.{point}", default, NEAR, said, default)

    def _has_at(self, point: str, default: str, made: Json) -> bool:
        """Whether the default plugin runs at a point of the converted profile, or another in its place."""
        own, everywhere = as_dict(made.get(point)), as_dict(made.get(MULTIPOINT))
        if as_list(own.get("enabled")):
            return True
        off, all_off = ({named(one) for one in as_list(part.get("disabled"))} for part in (own, everywhere))
        names = {default} if not {default, ALL} & all_off else set()
        names |= {named(one) for one in as_list(everywhere.get("enabled"))}
        specs = (self.release.registry.get(name) for name in names if not {name, ALL} & off)
        return any(spec is not None and point in spec.points for spec in specs)

    @staticmethod
    def _filled(point: str, found: Json) -> Json:
        return {point: found} if found else {}

    def _moved(self, written: Json) -> Json:
        """The sets at the extension points of today."""
        made = dict(written)
        if "preScore" not in self.version.points and "postFilter" in made:
            made["preScore"] = made.pop("postFilter")
            self.note("plugins.postFilter", "postFilter", EQUAL, "It is called preScore now.")
        if "unreserve" in made and "unreserve" in self.version.points:
            undone, kept = as_dict(made.pop("unreserve")), dict(as_dict(made.get("reserve")))
            for key, entries in undone.items():
                known = {named(one) for one in as_list(kept.get(key))}
                kept[key] = [*as_list(kept.get(key)), *(one for one in as_list(entries) if named(one) not in known)]
            made["reserve"] = kept
            self.note("plugins.unreserve", "unreserve", EQUAL, "A plugin at reserve undoes it, too: both are reserve.")
        return made

    def _set(self, point: str, given: Json) -> Json:
        """The set of a point at which nothing is scored."""
        made: Json = {key: value for key, value in given.items() if key not in ("enabled", "disabled")}
        listed = as_list(given.get("disabled"))
        everything = any(named(one) == ALL for one in listed)
        enabled: list[Any] = []
        for index, one in enumerate(as_list(given.get("enabled"))):
            name, path = named(one), f"plugins.{point}.enabled[{index}]"
            stands = STANDS_FOR.get(name, name)
            if self._is_gone(name, path):
                continue
            if stands != name:
                spec = self.release.own.get(stands)
                fits = spec is not None and (point == MULTIPOINT or point in spec.points)
                self.note(path, name, NEAR, SAID[stands], stands)
                if not (everything and fits) or any(named(other) == stands for other in enabled):
                    continue
            enabled.append(one if stands == name else {**one, "name": stands})
        disabled = [one for index, one in enumerate(listed) if not self._off(one, f"plugins.{point}.disabled[{index}]")]
        return made | ({"enabled": enabled} if enabled else {}) | ({"disabled": disabled} if disabled else {})

    def _off(self, one: Any, path: str) -> bool:
        """Whether the entry of a list of disabled plugins is left out."""
        name = named(one)
        if name in STANDS_FOR:
            stands = STANDS_FOR[name]
            said = f"{stands} stands for it, and for more: it stays, and goes where it is disabled by its own name."
            self.note(path, name, NEAR, said, stands)
        return name in STANDS_FOR or self._is_gone(name, path, enabled=False)

    def _is_gone(self, name: str, path: str, *, enabled: bool = True) -> bool:
        """Whether nothing can stand for the plugin, which is noted."""
        if name in LEFT:
            kind, said = LEFT[name] if enabled else (EQUAL, "The plugin is no more: it stays disabled.")
            self.note(path, name, kind, said)
            return True
        if not name or name == ALL or name in STANDS_FOR or self.release.registry.get(name):
            return False
        said = "It is no plugin of kube-scheduler, and is not known here: it is left out."
        self.note(path, name, NONE if enabled else EQUAL, said)
        if enabled and path.startswith("plugins."):
            self.left_out.setdefault(path.split(".")[1], []).append(name)
        return True

    def _score(self, given: Json) -> Json:
        """The set of the scores; finds the scoring strategy, and whether pods are spread without constraints."""
        made: Json = {key: value for key, value in given.items() if key not in ("enabled", "disabled")}
        listed, wanted = as_list(given.get("disabled")), as_list(given.get("enabled"))
        off = {named(one) for one in listed}
        running = {} if ALL in off else {n: weight for n, weight in self.version.scores.items() if n not in off}
        explicit: dict[str, Any] = {}
        for index, one in enumerate(wanted):
            name, path = named(one), f"plugins.score.enabled[{index}]"
            if self._is_gone(name, path):
                continue
            if name in running and not self.version.replaces:
                said = f"kube-scheduler {self.version.last} asked to disable it first; now its weight is replaced."
                self.note(path, name, NEAR, said)
            weight = as_dict(one).get("weight")
            running[name] = weight if isinstance(weight, int) and weight else 1
            explicit[name] = one
        self._tell_defaults([name for name in running if name not in explicit])
        self.spreads = not {*SPREADS} & self.version.scores.keys() or any(name in running for name in SPREADS)
        enabled, taken_out = self._families(running, explicit, off)
        disabled = []
        for index, one in enumerate(listed):
            name, path = named(one), f"plugins.score.disabled[{index}]"
            stands = STANDS_FOR.get(name, name)
            if stands in FAMILIES and ALL not in off:
                if stands != name:
                    self.note(path, name, EQUAL if stands in taken_out else NEAR, SAID[stands], stands)
                elif any(named(other) == name for other in enabled):
                    disabled.append(one)
                continue
            if not self._off(one, path):
                disabled.append(one)
        disabled += [{"name": name} for name in taken_out if ALL not in off]
        return made | ({"enabled": enabled} if enabled else {}) | ({"disabled": disabled} if disabled else {})

    def _tell_defaults(self, running: Iterable[str]) -> None:
        """Note which plugins that scored by default have another name, or are no more."""
        for name in running:
            if name in LEFT:
                self.note("plugins.score", name, *LEFT[name])
            elif name in STANDS_FOR:
                kind = EQUAL if STANDS_FOR[name] == FIT else NEAR
                self.note("plugins.score", name, kind, SAID[STANDS_FOR[name]], STANDS_FOR[name])

    def _families(
        self, running: Mapping[str, int], explicit: Mapping[str, Any], off: set[str]
    ) -> tuple[list[Any], list[str]]:
        """The entries of enabled plugins, and the plugins of today of which no part runs.

        Of the plugins that one of today stands for, the heaviest is kept.
        """
        chosen: dict[str, str] = {}
        taken_out: list[str] = []
        for stands, members in FAMILIES.items():
            found = [name for name in members if name in running]
            if found:
                chosen[stands] = max(found, key=lambda name: running[name])
            elif off & {*members} or ALL in off:
                taken_out.append(stands)
        kept = chosen.get(FIT, "")
        self.strategy = kept if kept in STRATEGIES else ""
        enabled: list[Any] = []
        for name, one in explicit.items():
            stands = STANDS_FOR.get(name, name)
            path = f"plugins.score.enabled[{list(explicit).index(name)}]"
            if stands in chosen and chosen[stands] != name:
                kept_one = chosen[stands]
                said = f"Only one of {name} and {kept_one} can be kept: {kept_one}, which weighs as much or more."
                self.note(path, name, NONE, said, stands)
                continue
            if stands != name:
                self.note(path, name, EQUAL if stands == FIT else NEAR, SAID[stands], stands)
            enabled.append(one if stands == name else {**one, "name": stands})
        return enabled, taken_out

    def _multipoint(self, given: Json) -> Json:
        """The set of a version whose default plugins were named at each point: there multiPoint did not reach them."""
        enabled = []
        defaults = {ref.name for ref in self.release.own.defaults}
        for index, one in enumerate(as_list(given.get("enabled"))):
            if named(one) in defaults:
                said = "It ran at its extension points already, so this did nothing; it is left out."
                self.note(f"plugins.multiPoint.enabled[{index}]", named(one), EQUAL, said)
            elif not self._is_gone(named(one), f"plugins.multiPoint.enabled[{index}]"):
                enabled.append(one)
        for index, one in enumerate(as_list(given.get("disabled"))):
            said = "The default plugins were named at each extension point, so this did nothing; it is left out."
            self.note(f"plugins.multiPoint.disabled[{index}]", named(one), EQUAL, said)
        return {"enabled": enabled} if enabled else {}

    def _default_weights(self, score: Json) -> list[Json]:
        """Entries for the plugins that score by default, with another weight then than now."""
        off = {named(one) for one in as_list(score.get("disabled"))}
        written = {STANDS_FOR.get(named(one), named(one)) for one in as_list(score.get("enabled"))}
        today = {ref.name: ref.weight for ref in self.release.own.defaults}
        found = []
        for name, weight in self.version.scores.items():
            stands = STANDS_FOR.get(name, name)
            if ALL in off or name in off or stands in written or name != stands or today.get(name, weight) == weight:
                continue
            found.append({"name": name, "weight": weight})
            said = f"It weighed {weight} by default, and weighs {today[name]} now: its weight is written down."
            self.note("plugins.score", name, EQUAL, said)
        return found

    # --- arguments

    def _configs(self, written: Json) -> list[Any]:
        made: list[Any] = []
        old: dict[str, Json] = {}
        for index, one in enumerate(as_list(self.given.get("pluginConfig"))):
            name, path = named(one), f"pluginConfig[{index}]"
            args = as_dict(one).get("args")
            if name in STRATEGIES or name == NODE_LABEL:
                old[name] = as_dict(args)
                kept = name == NODE_LABEL or name == self.strategy
                said = SAID[FIT] if name != NODE_LABEL else LEFT[NODE_LABEL][1]
                self.note(path, name, NEAR if kept else NONE, said if kept else "It does not score: not read.")
            elif name in STANDS_FOR:
                self.note(path, name, NONE, f"{STANDS_FOR[name]} stands for the plugin, with its own arguments.")
            elif not self._is_gone(name, path):
                made.append({**one, "args": self._without_version(args)} if isinstance(args, dict) else one)
        self._scoring(made, old)
        self._labels(made, old, written)
        self._constraints(made)
        return made

    def _without_version(self, args: Json) -> Json:
        """Arguments without the version, which is that of the document."""
        return {k: v for k, v in args.items() if not (k == "apiVersion" and v == self.version.api_version)}

    @staticmethod
    def _args(made: list[Any], name: str) -> Json:
        """The arguments of a plugin, as a value that may be changed; they are added where there are none."""
        found = next((one for one in made if named(one) == name), None)
        if found is None:
            found = {"name": name}
            made.append(found)
        found["args"] = dict(as_dict(found.get("args")))
        args: Json = found["args"]
        return args

    def _scoring(self, made: list[Any], old: Mapping[str, Json]) -> None:
        if not self.strategy:
            return
        given = old.get(self.strategy, {})
        if self.strategy == LEAST and not given.get("resources") and not any(named(one) == FIT for one in made):
            return  # as by default
        strategy: Json = {"type": STRATEGIES[self.strategy]}
        if given.get("resources"):
            strategy["resources"] = given["resources"]
        if "shape" in given:
            strategy["requestedToCapacityRatio"] = {"shape": given["shape"]}
        args = self._args(made, FIT)
        if strategy != {"type": STRATEGIES[LEAST]} or "scoringStrategy" in args:
            args["scoringStrategy"] = strategy

    def _labels(self, made: list[Any], old: Mapping[str, Json], written: Json) -> None:
        """NodeLabel as node affinity that is added to all pods."""
        given = old.get(NODE_LABEL, {})
        at = {point: self._weight(written, point) for point in ("filter", "score")}
        required = _expressions(given, "presentLabels", "absentLabels") if at["filter"] else []
        preferred = _expressions(given, "presentLabelsPreference", "absentLabelsPreference") if at["score"] else []
        if not required and not preferred:
            return
        args = self._args(made, AFFINITY)
        affinity = args["addedAffinity"] = dict(as_dict(args.get("addedAffinity")))
        if required:
            terms = as_list(as_dict(affinity.get(REQUIRED)).get("nodeSelectorTerms")) or [{}]
            joined = [{**t, "matchExpressions": [*as_list(t.get("matchExpressions")), *required]} for t in terms]
            affinity[REQUIRED] = {"nodeSelectorTerms": joined}
        if preferred:
            weight = min(at["score"], MOST)
            terms = [{"weight": weight, "preference": {"matchExpressions": [one]}} for one in preferred]
            affinity[PREFERRED] = [*as_list(affinity.get(PREFERRED)), *terms]

    @staticmethod
    def _weight(written: Json, point: str) -> int:
        """The weight of NodeLabel at ``point``; 0 where it does not run."""
        for one in as_list(as_dict(written.get(point)).get("enabled")):
            if named(one) == NODE_LABEL:
                weight = one.get("weight")
                return weight if isinstance(weight, int) and weight > 0 else 1
        return 0

    def _constraints(self, made: list[Any]) -> None:
        """Whether PodTopologySpread has constraints for pods without any, which is said by ``defaultingType``."""
        given = as_dict(next((as_dict(one).get("args") for one in made if named(one) == SPREAD), None))
        by_list = bool(given.get("defaultConstraints")) and not self.version.replaces
        if "defaultingType" in given or not (by_list or not self.spreads):
            return
        args = self._args(made, SPREAD)
        args |= {"defaultConstraints": as_list(given.get("defaultConstraints")), "defaultingType": "List"}
        said = (
            "Constraints in a list have to be called List now."
            if by_list
            else "Pods without constraints were not spread: the list of constraints for them is empty."
        )
        self.note("pluginConfig", SPREAD, EQUAL, said)


def _expressions(given: Json, present: str, absent: str) -> list[Json]:
    """Requirements that labels are present, and that others are absent."""

    def of(key: str, operator: str) -> Iterable[Json]:
        return ({"key": label, "operator": operator} for label in as_list(given.get(key)))

    return [*of(present, "Exists"), *of(absent, "DoesNotExist")]
