"""Warnings about settings that kube-scheduler accepts but ignores, or handles otherwise than one would expect."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.config import files
from kschedweb.engine.config.model import Configuration, Profile
from kschedweb.engine.config.release import Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.golang import parse_seconds, quote

# The extension points at which a weight counts.
_WEIGHED = ("score", "placementScore", "multiPoint")
# Their Score reads state that only their PreScore writes, and fails without it.
_NEEDS_PRE_SCORE = ("TaintToleration", "PodTopologySpread", "InterPodAffinity")
_FILES = ("certFile", "keyFile", "caFile")
# `JitterFactor` of client-go's leader election.
JITTER = 1.2


def list_warnings(document: Json, configuration: Configuration, release: Release) -> list[str]:
    """Return warnings for a valid configuration, each as ``<path>: <sentence>``.

    ``document`` is the decoded document before defaults, so that only settings that were written get warnings.
    """
    return [f"{path}: {sentence}" for path, sentence in _iter_warnings(document, configuration, release)]


def _iter_warnings(document: Json, configuration: Configuration, release: Release) -> Iterator[tuple[str, str]]:
    for gate in release.unsimulated_gates:
        switched, default = ("on", "off") if release.is_enabled(gate) else ("off", "on")
        yield (
            f"featureGates.{gate}",
            f"what it changes when it is {switched} is outside the simulation: answers are those of {default}",
        )
    if document["percentageOfNodesToScore"] == 100:
        yield "percentageOfNodesToScore", "at 100 the search never stops early: every node is looked at for every pod"
    if document["enableProfiling"] is False and document["enableContentionProfiling"]:
        yield "enableContentionProfiling", "has no effect while enableProfiling is false"
    yield from _election_warnings(document["leaderElection"], configuration.document["leaderElection"])
    for index, (before, profile) in enumerate(zip(document["profiles"] or [], configuration.profiles, strict=False)):
        path = f"profiles[{index}]"
        if before["percentageOfNodesToScore"] == 100:
            yield f"{path}.percentageOfNodesToScore", "at 100 the search never stops early"
        yield from _plugin_warnings(before["plugins"] or {}, f"{path}.plugins", release)
        yield from _scoring_warnings(profile, path)
        yield from _plugin_config_warnings(before, profile, f"{path}.pluginConfig", release)
    yield from _extender_warnings(document)


def _election_warnings(document: Json, election: Json) -> Iterator[tuple[str, str]]:
    if document["leaderElect"] is False:
        for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
            if document[name]:
                yield f"leaderElection.{name}", "has no effect while leaderElect is false"
    elif parse_seconds(election["renewDeadline"]) <= JITTER * parse_seconds(election["retryPeriod"]):
        yield (
            "leaderElection.renewDeadline",
            "kube-scheduler takes this and ends at its start: renewDeadline must be greater than "
            f"retryPeriod*JitterFactor, which is {JITTER}",
        )


def _plugin_warnings(plugins: Json, path: str, release: Release) -> Iterator[tuple[str, str]]:
    for point, sets in plugins.items():
        for index, plugin in enumerate(sets["enabled"] or ()):
            yield from _enabled_warnings(point, plugin, f"{path}.{point}.enabled[{index}]", release)
        names = [plugin["name"] for plugin in sets["disabled"] or ()]
        for index, name in enumerate(names):
            at, spec = f"{path}.{point}.disabled[{index}]", release.registry.get(name)
            if name == "*":
                continue
            if "*" in names:
                yield at, f'{quote(name)} need not be listed: "*" disables all default plugins'
            elif spec is None:
                yield at, f"there is no plugin {quote(name)}, so nothing is disabled"
            elif point != "multiPoint" and point not in spec.points:
                yield at, f"{quote(name)} does not run at {point}, so nothing is disabled"
        for index, plugin in enumerate(sets["disabled"] or ()):
            if plugin["weight"] is not None:
                yield f"{path}.{point}.disabled[{index}].weight", "a disabled plugin has no weight"


def _enabled_warnings(point: str, plugin: Json, path: str, release: Release) -> Iterator[tuple[str, str]]:
    name, weight = plugin["name"], plugin["weight"]
    spec = release.registry.get(name)
    if spec is None:
        return
    if spec.origin:
        sentence = (
            f"{quote(name)} is not part of kube-scheduler: it runs here, and in a scheduler that is built with it"
        )
        yield path, sentence
    if spec.gate and not release.is_enabled(spec.gate):
        yield path, f"{quote(name)} does nothing unless the feature gate {spec.gate} is on"
    if weight is None:
        return
    scores = spec.points & {"score", "placementScore"}
    if point not in _WEIGHED:
        yield f"{path}.weight", f"a weight counts at score and multiPoint only, not at {point}"
    elif point == "multiPoint" and not scores:
        yield f"{path}.weight", f"{quote(name)} gives no score, so its weight has no effect"
    elif weight == 0:
        yield f"{path}.weight", "0 counts as 1: disable the plugin to leave its score out"
    elif weight < 0:
        yield f"{path}.weight", "a negative weight turns the plugin's preference around"


def _scoring_warnings(profile: Profile, path: str) -> Iterator[tuple[str, str]]:
    """Yield warnings for plugins that cannot score without their preScore: every pod's cycle would fail."""
    prepared = {ref.name for ref in profile.points["preScore"]}
    for ref in profile.points["score"]:
        if ref.name in _NEEDS_PRE_SCORE and ref.name not in prepared:
            sentence = f"{quote(ref.name)} scores but is off at preScore, so every pod's scoring fails: disable both"
            yield f"{path}.plugins.preScore", sentence
    if not profile.points["score"]:
        yield f"{path}.plugins.score", "no plugin scores, so pods go to any node that is feasible"


def _plugin_config_warnings(before: Json, profile: Profile, path: str, release: Release) -> Iterator[tuple[str, str]]:
    # Extension points of groups count as written: profiles have them only if the feature gates are on.
    running = {ref.name for refs in profile.points.values() for ref in refs}
    plugins = before["plugins"] or {}
    groups = release.schema.group_points if plugins else ()
    running |= {plugin["name"] for point in groups for plugin in plugins[point]["enabled"] or ()}
    for index, config in enumerate(before["pluginConfig"] or ()):
        name, at = config["name"], f"{path}[{index}]"
        spec = release.registry.get(name)
        if spec is None:
            yield at, f"there is no plugin {quote(name)}, so these arguments are not used"
        elif spec.args is None and config["args"]:
            yield f"{at}.args", f"{quote(name)} takes no arguments"
        elif name not in running:
            yield at, f"{quote(name)} is not enabled, so these arguments are not used"
        elif name == "NodeAffinity":
            yield from _affinity_warnings(config["args"]["addedAffinity"] or {}, f"{at}.args.addedAffinity")
        elif spec.args:
            remarks = [*spec.args.advice(config["args"])]
            if spec.args.file:
                remarks += files.file_advice(spec.args.file, config["args"], release)
            yield from ((f"{at}.args.{field}", sentence) for field, sentence in remarks)


def _affinity_warnings(added: Json, path: str) -> Iterator[tuple[str, str]]:
    must, prefer = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    if (required := added.get(must)) is not None:
        terms = required["nodeSelectorTerms"] or []
        if not any(term["matchExpressions"] or term["matchFields"] for term in terms):
            yield f"{path}.{must}", "no term says anything, so no node matches and no pod can be scheduled"
    for index, term in enumerate(added.get(prefer) or ()):
        if term["weight"] == 0:
            yield f"{path}.{prefer}[{index}].weight", "a preference of weight 0 is left out"


def _extender_warnings(document: Json) -> Iterator[tuple[str, str]]:
    extenders = document["extenders"] or []
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender["weight"] and not extender["prioritizeVerb"]:
            yield f"{path}.weight", "has no effect without prioritizeVerb"
        if not any(extender[verb] for verb in ("filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb")):
            yield path, "names no verb, so the extender is never asked"
        yield from _transport_warnings(extender, f"{path}.tlsConfig")
    if any(resource["ignoredByScheduler"] for e in extenders for resource in e["managedResources"] or ()):
        yield from _replaced_warnings(document["profiles"] or [])


def _transport_warnings(extender: Json, path: str) -> Iterator[tuple[str, str]]:
    tls = extender["tlsConfig"]
    if tls is None:
        return
    if not extender["enableHTTPS"] and not extender["urlPrefix"].startswith("https:"):
        yield path, "has no effect without enableHTTPS or an https address"
    for name in _FILES:
        if tls[name]:
            yield f"{path}.{name}", "is read on kube-scheduler's machine and was not checked here"


def _replaced_warnings(profiles: list[Json]) -> Iterator[tuple[str, str]]:
    for i, profile in enumerate(profiles):
        for j, config in enumerate(profile["pluginConfig"] or ()):
            if config["name"] == "NodeResourcesFit" and config["args"]["ignoredResources"]:
                path = f"profiles[{i}].pluginConfig[{j}].args.ignoredResources"
                yield path, "is replaced by the resources that extenders declare as ignoredByScheduler"
