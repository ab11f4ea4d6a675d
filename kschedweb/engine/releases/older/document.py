"""A whole document of a version before v1 as one of v1, with a note on each change."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from kschedweb.engine.config import EMPTY, Release
from kschedweb.engine.config.document import RefusedError, refusal
from kschedweb.engine.config.notes import EQUAL, NEAR, NONE, Conversion, Note
from kschedweb.engine.config.schema import EXTENDER, GROUP, KIND
from kschedweb.engine.config.source import Source
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.older.names import LEAST
from kschedweb.engine.releases.older.profile import ProfileConversion, as_dict, as_list, named
from kschedweb.engine.releases.older.versions import COMPONENT, READ, VERSIONS, Version
from kschedweb.engine.validation.fields import Problem
from kschedweb.engine.validation.golang import Literal, duration_text, quote
from kschedweb.engine.values import dataclass

DEFAULT, AUTOSCALER = "DefaultProvider", "ClusterAutoscalerProvider"
LEASES = "leases"
SHARE = "percentageOfNodesToScore"
PREEMPTION = "DefaultPreemption"
LOCKS = {"lockObjectNamespace": "resourceNamespace", "lockObjectName": "resourceName"}
GONE = {
    "healthzBindAddress": "It is no field any longer: --bind-address and --secure-port say where health is told.",
    "metricsBindAddress": "It is no field any longer: --bind-address and --secure-port say where metrics are told.",
    "failureDomains": "Terms of pod affinity name their topology key themselves.",
}
KNOWN_THEN = frozenset(
    (
        *("PrioritySort", "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"),
        *("NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
        *("PodTopologySpread", "InterPodAffinity", PREEMPTION, "NodeResourcesBalancedAllocation", "ImageLocality"),
        "DefaultBinder",
    )
)
"""Of today's default plugins those that ran then, too."""


def converted(source: Source, release: Release) -> Conversion | None:
    """The document in ``source`` as one of v1 for ``release``; ``None`` where it is not of a version before v1.

    Raises RefusedError for what the version did not allow, and for what cannot be converted.
    """
    value = source.value
    if not isinstance(value, dict) or not isinstance(value.get("apiVersion"), str):
        return None
    version = VERSIONS.get(value["apiVersion"])
    if version is None:
        return None
    if value.get("kind") != KIND:
        found = value["kind"] if isinstance(value.get("kind"), str) else ""
        raise refusal("kind", f"no kind {quote(found)} is read of version {quote(version.api_version)}: only {KIND} is")
    if source.duplicates:
        raise refusal("", "yaml: unmarshal errors:\n  " + "\n  ".join(source.duplicates))
    made = _Document(version, release, plain(value))
    return Conversion(version.api_version, made.convert(), tuple(dict.fromkeys(made.notes)))


def plain(value: Any) -> Any:
    """A value as it was read, with numbers in place of how they are written."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return float(value.text) if isinstance(value, Literal) else value


def other_version(text: str) -> str:
    """What to add to the refusal of apiVersion ``text``: which versions are read; "" for that of another API."""
    if text.partition("/")[0] not in (GROUP, COMPONENT) or text in READ:
        return ""
    return f"{text} is no version that is read here: they are {', '.join(READ)}"


@dataclass(slots=True)
class _Document:
    version: Version
    release: Release
    given: Json
    notes: list[Note] = field(default_factory=list)

    def note(self, path: str, kind: str, text: str, *plugins: str, name: str = "") -> None:
        self.notes.append(Note(path, name or path, kind, text, plugins))

    def convert(self) -> Json:
        given = self._known()
        made: Json = {**EMPTY}
        converters = {"leaderElection": self._election, "extenders": self._extenders}
        own = {"apiVersion", "kind", "plugins", "pluginConfig", "profiles", "schedulerName", "algorithmSource"}
        own |= {"hardPodAffinitySymmetricWeight", "disablePreemption", "bindTimeoutSeconds"}
        for name, value in given.items():
            if name in GONE:
                self.note(name, NONE, GONE[name])
            elif name not in own:
                made[name] = converters[name](value) if name in converters else value
        self._search(made)
        profiles = self._profiles(given)
        if isinstance(profiles, list):
            for profile in profiles:
                self._for_all(profile, given)
        made["profiles"] = profiles
        added = [ref.name for ref in self.release.own.defaults if ref.name not in KNOWN_THEN]
        said = "They run by default now, and concern only pods that use what they are for."
        self.note("", NEAR, said, *added, name=", ".join(added))
        return made

    def _known(self) -> Json:
        """The document without fields that its version did not have. Raises RefusedError where it refused them."""
        unknown = [name for name in self.given if name not in self.version.fields]
        if unknown and self.version.is_strict:
            problems = [Problem(name, f"unknown field {quote(name)}") for name in unknown]
            said = f"strict decoding error: {', '.join(problem.text for problem in problems)}"
            raise RefusedError([said], problems)
        for name in unknown:
            said = f"{self.version.api_version} has no such field: kube-scheduler passed over it, and it is left out."
            self.note(name, NONE, said)
        return {name: value for name, value in self.given.items() if name not in unknown}

    # --- profiles

    def _profiles(self, given: Json) -> Any:
        if self.version.has_profiles:
            written = given.get("profiles")
            if written is not None and not isinstance(written, list):
                return written
            profiles = [(f"profiles[{index}]", one) for index, one in enumerate(written or [{}])]
        else:
            kept: Json = {name: given[name] for name in ("schedulerName", "plugins", "pluginConfig") if name in given}
            profiles = [("", self._provided(kept, given))]
        made = []
        for path, one in profiles:
            if not isinstance(one, dict):
                made.append(one)
                continue
            self._points(path, one)
            conversion = ProfileConversion(self.version, self.release, one, path)
            made.append(conversion.convert())
            self.notes += conversion.notes
        if len(made) == 1 and isinstance(made[0], dict):
            made[0] = {"schedulerName": "default-scheduler", **made[0]}
        return made

    def _points(self, path: str, profile: Json) -> None:
        """Refuse extension points that are of another version, or note that they did nothing."""
        where = f"{path}.plugins" if path else "plugins"
        unknown = [point for point in as_dict(profile.get("plugins")) if point not in self.version.points]
        if unknown and self.version.is_strict:
            problems = [Problem(f"{where}.{point}", f"unknown field {quote(f'{where}.{point}')}") for point in unknown]
            said = f"strict decoding error: {', '.join(problem.text for problem in problems)}"
            raise RefusedError([said], problems)
        for point in unknown:
            self.note(f"{where}.{point}", NONE, "There was no such extension point: it did nothing, and is left out.")
        if unknown:
            profile["plugins"] = {name: one for name, one in profile["plugins"].items() if name not in unknown}

    def _provided(self, profile: Json, given: Json) -> Json:
        """The profile over the plugins of its algorithm's provider. Raises RefusedError for another algorithm."""
        source = as_dict(given.get("algorithmSource"))
        if source.get("policy") is not None:
            said = "The Policy is in another file or ConfigMap: give that Policy itself, it is converted, too."
            raise refusal("algorithmSource.policy", f"algorithmSource.policy: {said}")
        provider = source.get("provider") or DEFAULT
        if provider not in (DEFAULT, AUTOSCALER):
            said = f"there is no such provider: there were {DEFAULT} and {AUTOSCALER}"
            raise refusal("algorithmSource.provider", f"algorithmSource.provider: {said}")
        if source:
            said = "It stands for the default plugins, which a profile has without saying so."
            if provider == AUTOSCALER:
                said = "It stands for the default plugins, with NodeResourcesMostAllocated for the least allocated."
            self.note("algorithmSource", EQUAL, said)
        if provider == DEFAULT:
            return profile
        plugins = dict(as_dict(profile.get("plugins")))
        score = dict(as_dict(plugins.get("score")))
        score["disabled"] = [{"name": LEAST}, *as_list(score.get("disabled"))]
        score["enabled"] = [{"name": "NodeResourcesMostAllocated", "weight": 1}, *as_list(score.get("enabled"))]
        return {**profile, "plugins": {**plugins, "score": score}}

    def _for_all(self, profile: Any, given: Json) -> None:
        """Put into ``profile`` what was said once for all pods."""
        if not isinstance(profile, dict):
            return
        for name, plugin, argument in (
            ("hardPodAffinitySymmetricWeight", "InterPodAffinity", "hardPodAffinityWeight"),
            ("bindTimeoutSeconds", "VolumeBinding", "bindTimeoutSeconds"),
        ):
            if given.get(name) is not None:
                self._argument(profile, plugin, argument, given[name])
                self.note(name, EQUAL, f"It is {argument} among the arguments of {plugin}.", plugin)
        if "disablePreemption" in given:
            said = "Preemption is the plugin DefaultPreemption now"
            if given["disablePreemption"] is True:
                plugins = profile["plugins"] = dict(as_dict(profile.get("plugins")))
                plugins["postFilter"] = {"disabled": [{"name": PREEMPTION}]}
                said += ": it is disabled"
            self.note("disablePreemption", EQUAL, f"{said}.", PREEMPTION)

    @staticmethod
    def _argument(profile: Json, plugin: str, argument: str, value: Any) -> None:
        configs = profile["pluginConfig"] = list(as_list(profile.get("pluginConfig")))
        at = next((index for index, one in enumerate(configs) if named(one) == plugin), None)
        if at is None:
            configs.append({"name": plugin, "args": {argument: value}})
        else:
            configs[at] = {**configs[at], "args": {argument: value, **as_dict(configs[at].get("args"))}}

    # --- the rest

    def _search(self, made: Json) -> None:
        """How many nodes are enough where nothing is said: all up to 1.11, half of them up to 1.13, then by number."""
        if SHARE not in self.version.fields:
            made[SHARE] = 100
            self.note(SHARE, EQUAL, f"There was no such field: kube-scheduler {self.version.last} looked at all nodes.")
        elif self.version.has_profiles or made.get(SHARE):
            return
        else:
            said = "Left out or 0, it depends on the number of nodes, as it did from 1.14 on; 1.12 and 1.13 took 50."
            self.note(SHARE, NEAR, said)

    def _election(self, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        made = dict(given)
        for old, new in LOCKS.items():
            if old not in made or self.version.is_strict:
                continue
            value = made.pop(old)
            if made.get(new) and value and made[new] != value:
                said = f"leaderElection.{old}: {quote(str(value))} and {new} {quote(str(made[new]))} do not match"
                raise refusal(f"leaderElection.{old}", said)
            if value:
                made.setdefault(new, value)
            self.note(f"leaderElection.{old}", EQUAL, f"It is called {new} now.")
        lock = made.get("resourceLock")
        if isinstance(lock, str) and lock not in ("", LEASES):
            made["resourceLock"] = LEASES
            self.note("leaderElection.resourceLock", NEAR, f"The lock can only be a Lease now; it was {lock}.")
        return made

    def _extenders(self, given: Any) -> Any:
        if not isinstance(given, list) or self.version.replaces or "parallelism" in self.version.fields:
            return given
        return [self._extender(one, f"extenders[{index}]") for index, one in enumerate(given)]

    def _extender(self, given: Any, path: str) -> Any:
        """An extender of v1alpha2, which had that of a Policy: names in any letter case, and a timeout in ns."""
        if not isinstance(given, dict):
            return given
        names = {known.name.lower(): known.name for known in EXTENDER.fields}
        made = {names.get(name.lower(), name): value for name, value in given.items()}
        if changed := [name for name in given if name not in made]:
            self.note(path, EQUAL, f"Written as they are now: {', '.join(changed)}.")
        timeout = made.get("httpTimeout")
        if isinstance(timeout, int) and not isinstance(timeout, bool):
            made["httpTimeout"] = duration_text(timeout)
            self.note(f"{path}.httpTimeout", EQUAL, f"Nanoseconds are written as a duration: {made['httpTimeout']}.")
        return made
