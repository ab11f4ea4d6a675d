"""Errors that kube-scheduler reports for a defaulted configuration before it builds anything."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import EXTENSION_POINTS, PLACEMENT_PERCENTAGE
from kschedweb.engine.config.specs import Registry
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem, Typed, duplicate, forbidden, invalid, required
from kschedweb.engine.validation.golang import duration_text
from kschedweb.engine.validation.labels import is_extended_resource, name_complaints

REMOVED_PLUGINS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
# The version in brackets is the one that kube-scheduler notes after reading a file; its library leaves it empty.
_REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "")'


def validate_configuration(configuration: Json, release: Release) -> list[Problem]:
    """Return the errors of a defaulted configuration in kube-scheduler's order."""
    problems: list[Problem] = []
    if (burst := configuration["clientConnection"]["burst"]) < 0:
        problems.append(invalid("clientConnection.burst", burst, "must be non-negative"))
    problems += _election_problems(configuration["leaderElection"])
    if configuration["parallelism"] <= 0:
        detail = "should be an integer value greater than zero"
        problems.append(invalid("parallelism", configuration["parallelism"], detail))
    problems += _profiles_problems(configuration["profiles"], release)
    problems += _percentage_problems("percentageOfNodesToScore", configuration["percentageOfNodesToScore"])
    problems += _placement_percentage_problems("", configuration, release)
    initial, longest = configuration["podInitialBackoffSeconds"], configuration["podMaxBackoffSeconds"]
    if initial <= 0:
        problems.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.append(invalid("podMaxBackoffSeconds", longest, detail))
    return problems + _extenders_problems(configuration["extenders"] or [])


def _election_problems(election: Json) -> list[Problem]:
    if not election["leaderElect"]:
        return []
    problems: list[Problem] = []
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        if election[name] <= 0:
            actual = Typed(duration_text(election[name]))
            problems.append(invalid(f"leaderElection.{name}", actual, "must be greater than zero"))
    if election["leaseDuration"] <= election["renewDeadline"]:
        actual = Typed(duration_text(election["renewDeadline"]))
        problems.append(invalid("leaderElection.leaseDuration", actual, "must be greater than `RenewDeadline`"))
    if election["resourceLock"] != "leases":
        detail = 'resourceLock value must be "leases"'
        problems.append(invalid("leaderElection.resourceLock", election["resourceLock"], detail))
    return problems


def _percentage_problems(path: str, percentage: int | None) -> list[Problem]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [invalid(path, percentage, "not in valid range [0-100]")]


def _placement_percentage_problems(parent: str, owner: Json, release: Release) -> list[Problem]:
    path, percentage = f"{parent}{PLACEMENT_PERCENTAGE}", owner.get(PLACEMENT_PERCENTAGE)
    if percentage is None or release.has_placement_percentage:
        return _percentage_problems(path, percentage)
    detail = f"{PLACEMENT_PERCENTAGE} requires TopologyAwareWorkloadScheduling feature gate to be enabled"
    return [forbidden(path, detail)]


def _profiles_problems(profiles: list[Json], release: Release) -> list[Problem]:
    problems: list[Problem] = []
    names: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        name = profile["schedulerName"]
        if not name:
            problems.append(required(f"{path}.schedulerName"))
        problems += _percentage_problems(f"{path}.percentageOfNodesToScore", profile["percentageOfNodesToScore"])
        problems += _placement_percentage_problems(f"{path}.", profile, release)
        problems += _removed_problems(profile["plugins"], f"{path}.plugins", release)
        problems += _plugin_config_problems(profile["pluginConfig"], f"{path}.pluginConfig", release.registry)
        if name in names:
            # kube-scheduler prints the path of the first one here, which comes out as an empty object.
            problems.append(duplicate(f"{path}.schedulerName", Typed({})))
        names.add(name)
    return problems + _queue_sort_problems(profiles)


def _removed_problems(plugins: Json, path: str, release: Release) -> list[Problem]:
    schema = release.schema
    points = (
        *EXTENSION_POINTS,
        *(point for point in schema.group_points if point not in schema.points_without_removal_check),
    )
    return [
        invalid(f"{path}.{point}.enabled[{index}]", plugin["name"], _REMOVED)
        for point in points
        for index, plugin in enumerate(plugins[point]["enabled"])
        if plugin["name"] in REMOVED_PLUGINS
    ]


def _plugin_config_problems(configs: list[Json], path: str, registry: Registry) -> list[Problem]:
    problems: list[Problem] = []
    names: set[str] = set()
    for index, config in enumerate(configs):
        name, at = config["name"], f"{path}[{index}]"
        if name in names:
            problems.append(duplicate(at, name))
        names.add(name)
        if name in REMOVED_PLUGINS:
            problems.append(invalid(at, name, _REMOVED))
        elif (spec := registry.find_args(name)) and not spec.when_created:
            problems += _deduplicate(spec.problems(config["args"], f"{at}.args"))
    return problems


def _deduplicate(problems: list[Problem]) -> list[Problem]:
    return list({problem.text: problem for problem in problems}.values())


def _queue_sort_problems(profiles: list[Json]) -> list[Problem]:
    """Check that all profiles sort the shared queue alike. Only explicit sets are compared, as in kube-scheduler."""
    problems: list[Problem] = []
    first = profiles[0]["plugins"]["queueSort"]
    if (count := len(first["enabled"])) > 1:
        detail = "only one queue sort plugin can be enabled"
        problems.append(invalid("profiles[0].plugins.queueSort.Enabled", count, detail))
    name = first["enabled"][0]["name"] if first["enabled"] else ""
    args = _args_of(profiles[0], name)[-1] if name and _args_of(profiles[0], name) else None
    for index, profile in enumerate(profiles[1:], 1):
        queue_sort = profile["plugins"]["queueSort"]
        if queue_sort != first:
            actual = Typed(
                {"Enabled": _go_plugins(queue_sort["enabled"]), "Disabled": _go_plugins(queue_sort["disabled"])}
            )
            path = f"profiles[{index}].plugins.queueSort"
            problems.append(invalid(path, actual, "must be the same for all profiles"))
        for other in _args_of(profile, name):
            if other != args:
                path = f"profiles[{index}].pluginConfig.args"
                problems.append(invalid(path, Typed(other), "queueSort must be the same for all profiles"))
    return problems


def _args_of(profile: Json, name: str) -> list[Any]:
    return [config["args"] for config in profile["pluginConfig"] if config["name"] == name]


def _go_plugins(plugins: list[Json]) -> list[Json] | None:
    return [{"Name": plugin["name"], "Weight": plugin["weight"]} for plugin in plugins] or None


def _extenders_problems(extenders: list[Json]) -> list[Problem]:
    problems: list[Problem] = []
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender["prioritizeVerb"] and extender["weight"] <= 0:
            detail = "must have a positive weight applied to it"
            problems.append(invalid(f"{path}.weight", extender["weight"], detail))
        for place, resource in enumerate(extender["managedResources"] or ()):
            name, at = resource["name"], f"{path}.managedResources[{place}].name"
            problems += _resource_problems(name, at)
            if name in managed:
                problems.append(invalid(at, name, "duplicate extender managed resource name"))
            managed.add(name)
    if (binders := sum(bool(extender["bindVerb"]) for extender in extenders)) > 1:
        actual = f"found {binders} extenders implementing bind"
        problems.append(invalid("extenders", actual, "only one extender can implement bind"))
    return problems


def _resource_problems(name: str, path: str) -> list[Problem]:
    if complaints := name_complaints(name):
        return [invalid(path, Typed(name), text) for text in complaints]
    return [] if is_extended_resource(name) else [invalid(path, name, "is an invalid extended resource name")]
