"""What kube-scheduler finds wrong with a defaulted configuration before it builds anything."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.config.specs import Registry
from kschedweb.engine.validation.fields import Problem, Typed, duplicate, invalid, required
from kschedweb.engine.validation.golang import duration_text
from kschedweb.engine.validation.labels import is_extended_resource, name_complaints

REMOVED_PLUGINS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
# The version in brackets is the one that kube-scheduler notes after reading a file; its library leaves it empty.
_REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "")'
Decoded = dict[str, Any]


def problems(configuration: Decoded, registry: Registry) -> list[Problem]:
    """Return the errors of a defaulted configuration in kube-scheduler's order."""
    found: list[Problem] = []
    if (burst := configuration["clientConnection"]["burst"]) < 0:
        found.append(invalid("clientConnection.burst", burst, "must be non-negative"))
    found += _election_problems(configuration["leaderElection"])
    if configuration["parallelism"] <= 0:
        detail = "should be an integer value greater than zero"
        found.append(invalid("parallelism", configuration["parallelism"], detail))
    found += _profiles_problems(configuration["profiles"], registry)
    found += _percentage_problems("percentageOfNodesToScore", configuration["percentageOfNodesToScore"])
    initial, longest = configuration["podInitialBackoffSeconds"], configuration["podMaxBackoffSeconds"]
    if initial <= 0:
        found.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        found.append(invalid("podMaxBackoffSeconds", longest, detail))
    return found + _extenders_problems(configuration["extenders"] or [])


def _election_problems(election: Decoded) -> list[Problem]:
    if not election["leaderElect"]:
        return []
    found: list[Problem] = []
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        if election[name] <= 0:
            shown = Typed(duration_text(election[name]))
            found.append(invalid(f"leaderElection.{name}", shown, "must be greater than zero"))
    if election["leaseDuration"] <= election["renewDeadline"]:
        shown = Typed(duration_text(election["renewDeadline"]))
        found.append(invalid("leaderElection.leaseDuration", shown, "must be greater than `RenewDeadline`"))
    if election["resourceLock"] != "leases":
        detail = 'resourceLock value must be "leases"'
        found.append(invalid("leaderElection.resourceLock", election["resourceLock"], detail))
    return found


def _percentage_problems(path: str, percentage: int | None) -> list[Problem]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [invalid(path, percentage, "not in valid range [0-100]")]


def _profiles_problems(profiles: list[Decoded], registry: Registry) -> list[Problem]:
    found: list[Problem] = []
    names: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        name = profile["schedulerName"]
        if not name:
            found.append(required(f"{path}.schedulerName"))
        found += _percentage_problems(f"{path}.percentageOfNodesToScore", profile["percentageOfNodesToScore"])
        found += _removed_problems(profile["plugins"], f"{path}.plugins")
        found += _plugin_config_problems(profile["pluginConfig"], f"{path}.pluginConfig", registry)
        if name in names:
            # kube-scheduler prints the path of the first one here, which comes out as an empty object.
            found.append(duplicate(f"{path}.schedulerName", Typed({})))
        names.add(name)
    return found + _queue_sort_problems(profiles)


def _removed_problems(plugins: Decoded, path: str) -> list[Problem]:
    return [
        invalid(f"{path}.{point}.enabled[{index}]", plugin["name"], _REMOVED)
        for point in EXTENSION_POINTS
        for index, plugin in enumerate(plugins[point]["enabled"])
        if plugin["name"] in REMOVED_PLUGINS
    ]


def _plugin_config_problems(configs: list[Decoded], path: str, registry: Registry) -> list[Problem]:
    found: list[Problem] = []
    seen: set[str] = set()
    for index, config in enumerate(configs):
        name, at = config["name"], f"{path}[{index}]"
        if name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
        if name in REMOVED_PLUGINS:
            found.append(invalid(at, name, _REMOVED))
        elif (spec := registry.args(name)) and not spec.when_created:
            found += _once(spec.problems(config["args"], f"{at}.args"))
    return found


def _once(found: list[Problem]) -> list[Problem]:
    return list({problem.text: problem for problem in found}.values())


def _queue_sort_problems(profiles: list[Decoded]) -> list[Problem]:
    """The queue is shared, so its plugin must be; only explicit sets are compared, as kube-scheduler does."""
    found: list[Problem] = []
    first = profiles[0]["plugins"]["queueSort"]
    if (count := len(first["enabled"])) > 1:
        detail = "only one queue sort plugin can be enabled"
        found.append(invalid("profiles[0].plugins.queueSort.Enabled", count, detail))
    name = first["enabled"][0]["name"] if first["enabled"] else ""
    args = _args_of(profiles[0], name)[-1] if name and _args_of(profiles[0], name) else None
    for index, profile in enumerate(profiles[1:], 1):
        queue_sort = profile["plugins"]["queueSort"]
        if queue_sort != first:
            shown = Typed({"Enabled": _shown(queue_sort["enabled"]), "Disabled": _shown(queue_sort["disabled"])})
            path = f"profiles[{index}].plugins.queueSort"
            found.append(invalid(path, shown, "must be the same for all profiles"))
        for other in _args_of(profile, name):
            if other != args:
                path = f"profiles[{index}].pluginConfig.args"
                found.append(invalid(path, Typed(other), "queueSort must be the same for all profiles"))
    return found


def _args_of(profile: Decoded, name: str) -> list[Any]:
    return [config["args"] for config in profile["pluginConfig"] if config["name"] == name]


def _shown(plugins: list[Decoded]) -> list[Decoded] | None:
    return [{"Name": plugin["name"], "Weight": plugin["weight"]} for plugin in plugins] or None


def _extenders_problems(extenders: list[Decoded]) -> list[Problem]:
    found: list[Problem] = []
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender["prioritizeVerb"] and extender["weight"] <= 0:
            detail = "must have a positive weight applied to it"
            found.append(invalid(f"{path}.weight", extender["weight"], detail))
        for place, resource in enumerate(extender["managedResources"] or ()):
            name, at = resource["name"], f"{path}.managedResources[{place}].name"
            found += _resource_problems(name, at)
            if name in managed:
                found.append(invalid(at, name, "duplicate extender managed resource name"))
            managed.add(name)
    if (binders := sum(bool(extender["bindVerb"]) for extender in extenders)) > 1:
        shown = f"found {binders} extenders implementing bind"
        found.append(invalid("extenders", shown, "only one extender can implement bind"))
    return found


def _resource_problems(name: str, path: str) -> list[Problem]:
    if said := name_complaints(name):
        return [invalid(path, Typed(name), text) for text in said]
    return [] if is_extended_resource(name) else [invalid(path, name, "is an invalid extended resource name")]
