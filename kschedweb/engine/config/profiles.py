"""Building of profiles: the second stage of the plugin merge, and the errors that kube-scheduler raises there."""

from __future__ import annotations

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import EXTENSION_POINTS
from kschedweb.engine.config.specs import PluginRef, Registry
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem, aggregate_problems
from kschedweb.engine.validation.golang import INT64_MAX, quote, wrap_int64

Points = dict[str, tuple[PluginRef, ...]]

# The order in which kube-scheduler goes through the extension points while building a profile; it decides which error
# comes first.
CHECK_ORDER = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
    "placementFeasible",
    "podGroupPostFilter",
)

MAX_NODE_SCORE = 100


class BuildError(ValueError):
    """kube-scheduler would not start with this profile. ``path`` is the field at fault, relative to the profile."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def build_points(profile: Json, release: Release) -> Points:
    """Return the plugins of each extension point in calling order. Raises ``BuildError``."""
    registry = release.registry
    order = [point for point in CHECK_ORDER if point in release.schema.plugin_sets]
    _check_args(profile, registry)
    plugins, name = profile["plugins"], profile["schedulerName"]
    for point in order:
        _check_set(point, plugins[point]["enabled"], registry)
    lists = {point: _expand_multipoint(point, plugins, registry) for point in order}
    if (count := len(lists["queueSort"])) != 1:
        message = f"only one queue sort plugin required for profile with scheduler name {quote(name)}, but got {count}"
        raise BuildError("plugins.queueSort", message)
    if not lists["bind"]:
        message = f"at least one bind plugin is needed for profile with scheduler name {quote(name)}"
        raise BuildError("plugins.bind", message)
    if len(lists.get("placementGenerate", ())) > 1 and not release.behaviour.placement_merging:
        message = f"at most one placement generate plugin is allowed for profile with scheduler name {quote(name)}"
        raise BuildError("plugins.placementGenerate", message)
    weights = _compute_weights(
        "score", plugins, registry, "score plugins: " if release.behaviour.score_weight_error_prefix else ""
    )
    placement_weights: dict[str, int] = {}
    if "placementScore" in lists:
        placement_weights = _compute_weights("placementScore", plugins, registry, "placement score plugins: ")
    weighed = {"score": weights, "placementScore": placement_weights}
    points = (*EXTENSION_POINTS, *release.schema.group_points) if release.has_group_scheduling else EXTENSION_POINTS
    return {
        point: tuple(PluginRef(plugin, weighed.get(point, {}).get(plugin, 0)) for plugin in lists[point])
        for point in points
    }


def _check_args(profile: Json, registry: Registry) -> None:
    """Check the arguments that kube-scheduler checks only when it creates their plugin."""
    plugins = profile["plugins"]
    needed = {plugin["name"] for point in plugins for plugin in plugins[point]["enabled"]}
    configured = {config["name"] for config in profile["pluginConfig"]}
    for name in sorted(needed - configured):
        if spec := registry.find_args(name):
            problem = f"got args of type <nil>, want *{spec.kind}"
            raise BuildError("pluginConfig", f"initializing plugin {quote(name)}: {problem}")
    for index, config in enumerate(profile["pluginConfig"]):
        spec = registry.find_args(config["name"])
        if config["name"] in needed and spec is not None and spec.when_created:
            problems = spec.problems(config["args"], "")
            if problems:
                path = f"pluginConfig[{index}].args.{problems[0].path}"
                raise BuildError(path, f"initializing plugin {quote(config['name'])}: {aggregate_problems(problems)}")


def _check_set(point: str, enabled: list[Json], registry: Registry) -> None:
    names: set[str] = set()
    for index, plugin in enumerate(enabled):
        name, path = plugin["name"], f"plugins.{point}.enabled[{index}]"
        spec = registry.get(name)
        if spec is None:
            raise BuildError(path, f"{_plugin_type(point)} {quote(name)} does not exist")
        if point not in spec.points:
            raise BuildError(path, f"plugin {quote(name)} does not extend {_plugin_type(point)} plugin")
        if name in names:
            raise BuildError(path, f"plugin {quote(name)} already registered as {quote(_plugin_type(point))}")
        names.add(name)


def _expand_multipoint(point: str, plugins: Json, registry: Registry) -> list[str]:
    """Return the names at ``point`` in the order of `expandMultiPointPlugins`.

    First come explicit ones that multiPoint names too, then the rest of multiPoint, then the other explicit ones.
    """
    explicit = [plugin["name"] for plugin in plugins[point]["enabled"]]
    off = {plugin["name"] for plugin in plugins[point]["disabled"]}
    everywhere = plugins["multiPoint"]["enabled"]
    if "*" in off or not everywhere:
        return explicit
    overridden: set[str] = set()
    added: list[str] = []
    for index, plugin in enumerate(everywhere):
        name, path = plugin["name"], f"plugins.multiPoint.enabled[{index}]"
        spec = registry.get(name)
        if spec is None:
            raise BuildError(path, f"{_plugin_type(point)} {quote(name)} does not exist")
        if point not in spec.points or name in off:
            continue
        if name in explicit:
            overridden.add(name)
        elif name in added:
            raise BuildError(path, f"plugin {quote(name)} already registered as {quote(_plugin_type(point))}")
        else:
            added.append(name)
    return [n for n in explicit if n in overridden] + added + [n for n in explicit if n not in overridden]


def _compute_weights(point: str, plugins: Json, registry: Registry, label: str) -> dict[str, int]:
    """Return the weight of every scoring plugin. Overflow of the sum is detected as 64-bit arithmetic does."""
    weights: dict[str, int] = {}
    total = 0
    for source in (point, "multiPoint"):
        for index, plugin in enumerate(plugins[source]["enabled"]):
            name, path = plugin["name"], f"plugins.{source}.enabled[{index}]"
            spec = registry.get(name)
            if spec is None:
                # The original crashes here: multiPoint names it while every extension point disables "*".
                raise BuildError(path, f"{label}plugin {quote(name)} does not exist")
            if point not in spec.points or name in weights:
                continue
            weights[name] = plugin["weight"] or 1
            # Wrapped, as Go's subtraction is: once the total has overflowed, the comparison itself goes wrong as in the
            # original.
            if weights[name] * MAX_NODE_SCORE > wrap_int64(INT64_MAX - total):
                raise BuildError(path, f"{label}total score of Score plugins could overflow")
            total = wrap_int64(total + weights[name] * MAX_NODE_SCORE)
    return weights


def _plugin_type(point: str) -> str:
    return f"{point[0].upper()}{point[1:]}Plugin"


def ignore_managed_resources(extenders: list[Json], profiles: list[Json]) -> None:
    """Let NodeResourcesFit ignore the resources that extenders manage alone, in place of its own list.

    Raises ``BuildError``.
    """
    names = [
        resource["name"]
        for extender in extenders
        for resource in extender["managedResources"] or ()
        if resource["ignoredByScheduler"]
    ]
    if not names:
        return
    for profile in profiles:
        fit = next((config for config in profile["pluginConfig"] if config["name"] == "NodeResourcesFit"), None)
        if fit is None:
            raise BuildError("", "can't find NodeResourcesFitArgs in plugin config")
        fit["args"]["ignoredResources"] = names


def transport_problem(extender: Json) -> Problem | None:
    """Return the problem with an extender's TLS settings, if there is one. Files are never read; only inline data is
    checked.
    """
    tls = extender["tlsConfig"] or {}
    has_ca = bool(tls.get("caFile") or tls.get("caData"))
    insecure = tls.get("insecure", False) or (extender["enableHTTPS"] and not has_ca)
    if has_ca and insecure:
        return Problem("insecure", "specifying a root certificates file with the insecure flag is not allowed")
    if (data := tls.get("caData")) and not _has_pem(data):
        return Problem("caData", "unable to load root certificates: unable to parse bytes as PEM block")
    if (certificate := tls.get("certData")) and (key := tls.get("keyData")):
        if not _has_pem(certificate):
            return Problem("certData", "tls: failed to find any PEM data in certificate input")
        if not _has_pem(key):
            return Problem("keyData", "tls: failed to find any PEM data in key input")
    return None


def _has_pem(data: bytes) -> bool:
    return b"-----BEGIN " in data and b"-----END " in data
