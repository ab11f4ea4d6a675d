"""Defaults of a decoded configuration, and the first stage of the plugin merge. Both work in place."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import (
    API_VERSION,
    DEFAULT_SCHEDULER,
    PLACEMENT_PERCENTAGE,
    PLUGIN_CONFIG,
)
from kschedweb.engine.config.types import zero
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.golang import SECOND


def set_defaults(configuration: Json, release: Release) -> None:
    """Fill in the defaults of a decoded configuration, as kube-scheduler does before it validates."""
    configuration["profiles"] = configuration["profiles"] or [zero(release.schema.profile)]
    profiles = configuration["profiles"]
    # Only a single profile may leave its name out; of several, validation refuses those without.
    if len(profiles) == 1 and profiles[0]["schedulerName"] is None:
        profiles[0]["schedulerName"] = DEFAULT_SCHEDULER
    for profile in profiles:
        profile["schedulerName"] = profile["schedulerName"] or ""
        _profile_defaults(profile, release)
    for name, value in (
        ("parallelism", 16),
        ("percentageOfNodesToScore", 0),
        ("podInitialBackoffSeconds", 1),
        ("podMaxBackoffSeconds", 10),
        ("enableProfiling", True),
    ):
        if configuration[name] is None:
            configuration[name] = value
    if release.has_placement_percentage and configuration[PLACEMENT_PERCENTAGE] is None:
        configuration[PLACEMENT_PERCENTAGE] = 0
    if configuration["enableContentionProfiling"] is None:
        configuration["enableContentionProfiling"] = configuration["enableProfiling"]
    _election_defaults(configuration["leaderElection"])
    _connection_defaults(configuration["clientConnection"])


def _election_defaults(election: Json) -> None:
    if election["leaderElect"] is None:
        election["leaderElect"] = True
    election["leaseDuration"] = election["leaseDuration"] or 15 * SECOND
    election["renewDeadline"] = election["renewDeadline"] or 10 * SECOND
    election["retryPeriod"] = election["retryPeriod"] or 2 * SECOND
    election["resourceLock"] = election["resourceLock"] or "leases"
    election["resourceName"] = election["resourceName"] or "kube-scheduler"
    election["resourceNamespace"] = election["resourceNamespace"] or "kube-system"


def _connection_defaults(connection: Json) -> None:
    connection["contentType"] = connection["contentType"] or "application/vnd.kubernetes.protobuf"
    connection["qps"] = connection["qps"] or 50.0
    connection["burst"] = connection["burst"] or 100


def _profile_defaults(profile: Json, release: Release) -> None:
    custom = profile["plugins"] if profile["plugins"] is not None else zero(release.schema.plugins)
    registry, sets = release.registry, release.schema.plugin_sets
    default = [{"name": ref.name, "weight": ref.weight} for ref in registry.defaults]
    profile["plugins"] = {
        point: merge_set(
            default if point == "multiPoint" else [], custom[point], release.list_disabled_by_default(point)
        )
        for point in sets
    }
    configs = profile["pluginConfig"] = profile["pluginConfig"] or []
    for config in configs:
        if spec := registry.find_args(config["name"]):
            spec.set_defaults(config["args"])
    configured = {config["name"] for config in configs}
    filled = [point for point in sets if point not in release.schema.points_without_default_args]
    enabled = {plugin["name"] for point in filled for plugin in profile["plugins"][point]["enabled"] or ()}
    # Sorted, as `setDefaults_KubeSchedulerProfile` goes through a sorted set.
    for name in sorted(enabled - configured):
        if spec := registry.find_args(name):
            arguments = zero(spec.struct)
            spec.set_defaults(arguments)
            configs.append({**zero(PLUGIN_CONFIG), "name": name, "args": arguments})
    for config in configs:
        if spec := registry.find_args(config["name"]):
            config["args"] |= {"kind": spec.kind, "apiVersion": API_VERSION}


def merge_set(default: list[Json], custom: Json, disabled_by_default: Sequence[str] = ()) -> Json:
    """Merge one plugin set with the plugins that are enabled or disabled by default, as `mergePluginSet` does.

    A default that is enabled again is replaced in place, and one that is disabled is dropped. Enabled plugins that
    replaced nothing follow in the order written. Repetitions stay; validation refuses them later.
    """
    custom_enabled = custom["enabled"] or []
    disabled = {plugin["name"] for plugin in custom["disabled"] or ()}
    last = {plugin["name"]: index for index, plugin in enumerate(custom_enabled)}
    remaining = [] if "*" in disabled else [plugin for plugin in default if plugin["name"] not in disabled]
    replaced = {last[plugin["name"]] for plugin in remaining if plugin["name"] in last}
    enabled = [custom_enabled[last[plugin["name"]]] if plugin["name"] in last else plugin for plugin in remaining]
    enabled += [plugin for index, plugin in enumerate(custom_enabled) if index not in replaced]
    return {
        "enabled": [{"name": plugin["name"], "weight": plugin["weight"] or 0} for plugin in enabled],
        "disabled": [
            {"name": name, "weight": 0}
            for name in (*(plugin["name"] for plugin in custom["disabled"] or ()), *disabled_by_default)
        ],
    }
