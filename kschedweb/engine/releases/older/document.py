"""Conversion of a whole document of a version before v1 to v1, with a note on each change."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kschedweb.engine.config import EMPTY, Release
from kschedweb.engine.config.document import RefusedError, refusal
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE, Conversion, Note
from kschedweb.engine.config.schema import EXTENDER, GROUP, KIND
from kschedweb.engine.config.source import DocumentSource
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.older.profile import ProfileConversion, as_dict, as_list, entry_name
from kschedweb.engine.releases.older.removed_plugins import LEAST_ALLOCATED
from kschedweb.engine.releases.older.versions import COMPONENT, READ, VERSIONS, Version
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import Literal, duration_text, quote
from kschedweb.engine.values import dataclass

DEFAULT, AUTOSCALER = "DefaultProvider", "ClusterAutoscalerProvider"
LEASES = "leases"
SHARE = "percentageOfNodesToScore"
PREEMPTION = "DefaultPreemption"
LOCKS = {"lockObjectNamespace": "resourceNamespace", "lockObjectName": "resourceName"}
REMOVED_FIELDS = {
    "healthzBindAddress": "It is no field any longer: --bind-address and --secure-port say where health is told.",
    "metricsBindAddress": "It is no field any longer: --bind-address and --secure-port say where metrics are told.",
    "failureDomains": "Terms of pod affinity name their topology key themselves.",
}
# Today's default plugins that ran by default then, too.
KNOWN_THEN = frozenset(
    (
        *("PrioritySort", "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"),
        *("NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
        *("PodTopologySpread", "InterPodAffinity", PREEMPTION, "NodeResourcesBalancedAllocation", "ImageLocality"),
        "DefaultBinder",
    )
)


def convert_document(source: DocumentSource, release: Release) -> Conversion | None:
    """Return the document in ``source`` as one of v1 for ``release``; ``None`` if its version is not one before v1.

    Raises RefusedError for contents that the version did not allow, and for those that cannot be converted.
    """
    value = source.value
    if not isinstance(value, dict) or not isinstance(value.get("apiVersion"), str):
        return None
    version = VERSIONS.get(value["apiVersion"])
    if version is None:
        return None
    if value.get("kind") != KIND:
        kind = value["kind"] if isinstance(value.get("kind"), str) else ""
        raise refusal("kind", f"no kind {quote(kind)} is read of version {quote(version.api_version)}: only {KIND} is")
    if source.duplicates:
        raise refusal("", "yaml: unmarshal errors:\n  " + "\n  ".join(source.duplicates))
    converter = _Document(version, release, to_plain(value))
    return Conversion(version.api_version, converter.convert(), tuple(dict.fromkeys(converter.notes)))


def to_plain(value: Any) -> Any:
    """Return a value as it was read, with plain numbers in place of their spelling."""
    if isinstance(value, dict):
        return {name: to_plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    return float(value.text) if isinstance(value, Literal) else value


def other_version(text: str) -> str:
    """Return a hint about the known versions for a refused apiVersion ``text``; "" if it belongs to another API."""
    if text.partition("/")[0] not in (GROUP, COMPONENT) or text in READ:
        return ""
    return f"{text} is no version that is read here: they are {', '.join(READ)}"


@dataclass(slots=True)
class _Document:
    version: Version
    release: Release
    source: Json
    notes: list[Note] = field(default_factory=list)

    def add_note(self, path: str, kind: str, text: str, *plugins: str, name: str = "") -> None:
        self.notes.append(Note(path, name or path, kind, text, plugins))

    def convert(self) -> Json:
        document = self._drop_unknown_fields()
        result: Json = {**EMPTY}
        converters = {"leaderElection": self._convert_leader_election, "extenders": self._convert_extenders}
        handled = {"apiVersion", "kind", "plugins", "pluginConfig", "profiles", "schedulerName", "algorithmSource"}
        handled |= {"hardPodAffinitySymmetricWeight", "disablePreemption", "bindTimeoutSeconds"}
        for name, value in document.items():
            if name in REMOVED_FIELDS:
                self.add_note(name, NONE, REMOVED_FIELDS[name])
            elif name not in handled:
                result[name] = converters[name](value) if name in converters else value
        self._default_percentage(result)
        profiles = self._convert_profiles(document)
        if isinstance(profiles, list):
            for profile in profiles:
                self._apply_global_settings(profile, document)
        result["profiles"] = profiles
        added = [ref.name for ref in self.release.in_tree_plugins.defaults if ref.name not in KNOWN_THEN]
        text = "They run by default now, and concern only pods that use what they are for."
        self.add_note("", NEAR, text, *added, name=", ".join(added))
        return result

    def _drop_unknown_fields(self) -> Json:
        """Return the document without fields that its version did not have.

        Raises RefusedError if the version refused them.
        """
        unknown = [name for name in self.source if name not in self.version.fields]
        if unknown and self.version.is_strict:
            problems = [Problem(name, f"unknown field {quote(name)}") for name in unknown]
            text = f"strict decoding error: {', '.join(problem.text for problem in problems)}"
            raise RefusedError([text], problems)
        for name in unknown:
            text = f"{self.version.api_version} has no such field: kube-scheduler passed over it, and it is left out."
            self.add_note(name, NONE, text)
        return {name: value for name, value in self.source.items() if name not in unknown}

    # --- profiles

    def _convert_profiles(self, document: Json) -> Any:
        if self.version.has_profiles:
            raw_profiles = document.get("profiles")
            if raw_profiles is not None and not isinstance(raw_profiles, list):
                return raw_profiles
            profiles = [(f"profiles[{index}]", profile) for index, profile in enumerate(raw_profiles or [{}])]
        else:
            single: Json = {
                name: document[name] for name in ("schedulerName", "plugins", "pluginConfig") if name in document
            }
            profiles = [("", self._apply_provider(single, document))]
        results = []
        for path, profile in profiles:
            if not isinstance(profile, dict):
                results.append(profile)
                continue
            self._check_points(path, profile)
            conversion = ProfileConversion(self.version, self.release, profile, path)
            results.append(conversion.convert())
            self.notes += conversion.notes
        if len(results) == 1 and isinstance(results[0], dict):
            results[0] = {"schedulerName": "default-scheduler", **results[0]}
        return results

    def _check_points(self, path: str, profile: Json) -> None:
        """Refuse extension points of another version, or note that they did nothing."""
        plugins_path = f"{path}.plugins" if path else "plugins"
        unknown = [point for point in as_dict(profile.get("plugins")) if point not in self.version.points]
        if unknown and self.version.is_strict:
            problems = [
                Problem(f"{plugins_path}.{point}", f"unknown field {quote(f'{plugins_path}.{point}')}")
                for point in unknown
            ]
            text = f"strict decoding error: {', '.join(problem.text for problem in problems)}"
            raise RefusedError([text], problems)
        for point in unknown:
            self.add_note(
                f"{plugins_path}.{point}", NONE, "There was no such extension point: it did nothing, and is left out."
            )
        if unknown:
            profile["plugins"] = {name: value for name, value in profile["plugins"].items() if name not in unknown}

    def _apply_provider(self, profile: Json, document: Json) -> Json:
        """Return the profile over the plugins of its algorithm's provider.

        Raises RefusedError for another algorithm.
        """
        source = as_dict(document.get("algorithmSource"))
        if source.get("policy") is not None:
            text = "The Policy is in another file or ConfigMap: give that Policy itself, it is converted, too."
            raise refusal("algorithmSource.policy", f"algorithmSource.policy: {text}")
        provider = source.get("provider") or DEFAULT
        if provider not in (DEFAULT, AUTOSCALER):
            text = f"there is no such provider: there were {DEFAULT} and {AUTOSCALER}"
            raise refusal("algorithmSource.provider", f"algorithmSource.provider: {text}")
        if source:
            text = "It stands for the default plugins, which a profile has without saying so."
            if provider == AUTOSCALER:
                text = "It stands for the default plugins, with NodeResourcesMostAllocated for the least allocated."
            self.add_note("algorithmSource", EQUAL, text)
        if provider == DEFAULT:
            return profile
        plugins = dict(as_dict(profile.get("plugins")))
        score = dict(as_dict(plugins.get("score")))
        score["disabled"] = [{"name": LEAST_ALLOCATED}, *as_list(score.get("disabled"))]
        score["enabled"] = [{"name": "NodeResourcesMostAllocated", "weight": 1}, *as_list(score.get("enabled"))]
        return {**profile, "plugins": {**plugins, "score": score}}

    def _apply_global_settings(self, profile: Any, document: Json) -> None:
        """Put settings that held for all pods into ``profile``."""
        if not isinstance(profile, dict):
            return
        for name, plugin, argument in (
            ("hardPodAffinitySymmetricWeight", "InterPodAffinity", "hardPodAffinityWeight"),
            ("bindTimeoutSeconds", "VolumeBinding", "bindTimeoutSeconds"),
        ):
            if document.get(name) is not None:
                self._set_argument(profile, plugin, argument, document[name])
                self.add_note(name, EQUAL, f"It is {argument} among the arguments of {plugin}.", plugin)
        if "disablePreemption" in document:
            text = "Preemption is the plugin DefaultPreemption now"
            if document["disablePreemption"] is True:
                plugins = profile["plugins"] = dict(as_dict(profile.get("plugins")))
                plugins["postFilter"] = {"disabled": [{"name": PREEMPTION}]}
                text += ": it is disabled"
            self.add_note("disablePreemption", EQUAL, f"{text}.", PREEMPTION)

    @staticmethod
    def _set_argument(profile: Json, plugin: str, argument: str, value: Any) -> None:
        configs = profile["pluginConfig"] = list(as_list(profile.get("pluginConfig")))
        at = next((index for index, config in enumerate(configs) if entry_name(config) == plugin), None)
        if at is None:
            configs.append({"name": plugin, "args": {argument: value}})
        else:
            configs[at] = {**configs[at], "args": {argument: value, **as_dict(configs[at].get("args"))}}

    # --- the rest

    def _default_percentage(self, result: Json) -> None:
        """Set the number of nodes that are enough by default: all up to 1.11, half of them up to 1.13, then by
        number.
        """
        if SHARE not in self.version.fields:
            result[SHARE] = 100
            self.add_note(
                SHARE, EQUAL, f"There was no such field: kube-scheduler {self.version.last} looked at all nodes."
            )
        elif self.version.has_profiles or result.get(SHARE):
            return
        else:
            text = "Left out or 0, it depends on the number of nodes, as it did from 1.14 on; 1.12 and 1.13 took 50."
            self.add_note(SHARE, NEAR, text)

    def _convert_leader_election(self, election: Any) -> Any:
        if not isinstance(election, dict):
            return election
        result = dict(election)
        for old, new in LOCKS.items():
            if old not in result or self.version.is_strict:
                continue
            value = result.pop(old)
            if result.get(new) and value and result[new] != value:
                text = f"leaderElection.{old}: {quote(str(value))} and {new} {quote(str(result[new]))} do not match"
                raise refusal(f"leaderElection.{old}", text)
            if value:
                result.setdefault(new, value)
            self.add_note(f"leaderElection.{old}", EQUAL, f"It is called {new} now.")
        lock = result.get("resourceLock")
        if isinstance(lock, str) and lock not in ("", LEASES):
            result["resourceLock"] = LEASES
            self.add_note("leaderElection.resourceLock", NEAR, f"The lock can only be a Lease now; it was {lock}.")
        return result

    def _convert_extenders(self, extenders: Any) -> Any:
        if not isinstance(extenders, list) or self.version.replaces or "parallelism" in self.version.fields:
            return extenders
        return [self._convert_extender(extender, f"extenders[{index}]") for index, extender in enumerate(extenders)]

    def _convert_extender(self, extender: Any, path: str) -> Any:
        """Convert an extender of v1alpha2, which was that of a Policy: names in any letter case, and a timeout in
        ns.
        """
        if not isinstance(extender, dict):
            return extender
        names = {spec.name.lower(): spec.name for spec in EXTENDER.fields}
        result = {names.get(name.lower(), name): value for name, value in extender.items()}
        if changed := [name for name in extender if name not in result]:
            self.add_note(path, EQUAL, f"Written as they are now: {', '.join(changed)}.")
        timeout = result.get("httpTimeout")
        if isinstance(timeout, int) and not isinstance(timeout, bool):
            result["httpTimeout"] = duration_text(timeout)
            self.add_note(
                f"{path}.httpTimeout", EQUAL, f"Nanoseconds are written as a duration: {result['httpTimeout']}."
            )
        return result
