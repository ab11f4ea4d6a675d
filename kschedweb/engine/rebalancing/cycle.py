"""One cycle of the descheduler: the Deschedule plugins of every profile, then the Balance plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from random import Random
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.rebalancing.arguments import aggregate_errors
from kschedweb.engine.rebalancing.cluster import DeschedulerCluster
from kschedweb.engine.rebalancing.evictions import Eviction, PodEvictor
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE, CycleReport, EvictingPlugin, Handle, PluginError
from kschedweb.engine.rebalancing.loading import DeschedulerPolicy, PolicyRefused, Profile, check_points, load_policy
from kschedweb.engine.rebalancing.metrics import Metrics
from kschedweb.engine.rebalancing.node_fit import Room
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.engine.rebalancing.selectors import parse_selector
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class CycleResult:
    """The result of a cycle."""

    # In the order in which they happened.
    evicted: list[Eviction] = field(default_factory=list)
    # Refused evictions.
    failures: list[Json] = field(default_factory=list)
    # Classes of nodes and notes of plugins.
    outcome: CycleReport = field(default_factory=CycleReport)
    # The reason if the cycle did nothing, else empty.
    skipped: str = ""
    # Evictions that each budget used in the cycle still allows, by namespace/name.
    remaining: dict[str, int] = field(default_factory=dict)


def run_cycle(
    policy: DeschedulerPolicy,
    cluster: DeschedulerCluster,
    now: float,
    metrics: Metrics | None = None,
    chance: Random | None = None,
) -> CycleResult:
    """Run one cycle at ``now`` (seconds of the epoch); evicted pods are gone from ``cluster`` afterwards.

    ``chance`` decides orders where the original walks a map. Raise PolicyRefused if a profile cannot be built, and
    SelectorError for a node selector that cannot be read.
    """
    selector = parse_selector(policy.node_selector)
    evictor = PodEvictor(cluster, Room(cluster), policy.limits)
    result = CycleResult(evictor.evicted, evictor.failures, remaining=evictor.remaining)
    metrics = replace(metrics or Metrics(), collected=policy.collects_metrics, queried=policy.queries_prometheus)
    built = [
        _build_profile(
            profile,
            f"profiles[{place}]",
            Handle(profile.name, cluster, evictor.room, evictor, metrics, result.outcome, now, chance),
        )
        for place, profile in enumerate(policy.profiles or ())
    ]
    nodes = cluster.ready_nodes(selector)
    # As the descheduler does: with one node there is nowhere to go.
    if len(nodes) <= 1:
        result.skipped = f"Skipping descheduling cycle: requires >=2 nodes, found {len(nodes)}"
        return result
    for point in (DESCHEDULE, BALANCE):
        for profile in built:
            errors = []
            for name in profile.profile.enabled_plugins(point):
                try:
                    profile.plugins[name].run(nodes)
                except PluginError as error:
                    errors.append(f"plugin {quote(name)} finished with error: {error}")
            if errors:
                result.outcome.plugin_errors.append(f"{profile.profile.name}: {aggregate_errors(errors)}")
    return result


@dataclass(slots=True)
class _BuiltProfile:
    """A profile with its plugins by name."""

    profile: Profile
    plugins: dict[str, EvictingPlugin]


def _build_profile(profile: Profile, at: str, handle: Handle) -> _BuiltProfile:
    """Build the plugins of a profile; raise PolicyRefused."""
    try:
        check_points(profile)
        # DefaultEvictor is the only plugin that filters, and every profile has it.
        handle.guard = _build_plugin(profile, defaultevictor.NAME, handle)
        names = [name for point in (DESCHEDULE, BALANCE) for name in profile.enabled_plugins(point)]
        return _BuiltProfile(profile, {name: _build_plugin(profile, name, handle) for name in names})
    except PolicyRefused as refused:
        message = f"unable to create {quote(profile.name)} profile: {refused}"
        raise PolicyRefused(message, path=f"{at}.{refused.problems[0].path}") from None


def _build_plugin(profile: Profile, name: str, handle: Handle) -> Any:
    failed = f"unable to build {name} plugin"
    if name not in profile.args:
        raise PolicyRefused(f"{failed}: unable to find {quote(name)} plugin config", path="plugins")
    try:
        return PLUGINS[name].make(profile.args[name], handle)
    except PluginError as error:
        message = f"{failed}: unable to initialize {quote(name)} plugin: {error}"
        raise PolicyRefused(
            message, path=f"pluginConfig[{[config_name for config_name, _ in profile.configs].index(name)}].args"
        ) from None


class AnyPriorityClass(dict[str, int]):
    """The priority classes of an unknown cluster: every name exists, with the highest priority."""

    def __missing__(self, name: str) -> int:
        return defaultevictor.CRITICAL

    def __contains__(self, name: object) -> bool:
        return True


def check_policy(document: str | Mapping[str, Any]) -> DeschedulerPolicy:
    """Return the policy with its defaults if the descheduler would start with it in some cluster.

    Raise PolicyRefused.
    """
    policy = load_policy(document, AnyPriorityClass())
    try:
        run_cycle(policy, DeschedulerCluster([]), 0.0)
    except SelectorError as error:
        raise PolicyRefused(str(error), path="nodeSelector") from None
    return policy
