"""Which plugins exist, what they implement, and their arguments; the in-tree ones of kube-scheduler 1.36.

Further plugins come as ``PluginSpec`` objects, from Python entry points of the group ``kschedweb.plugins``.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from kschedweb.engine.config import approval, args, arguments, load_aware
from kschedweb.engine.config.specs import ArgsSpec, PluginError, PluginRef, PluginSpec, Registry

ENTRY_POINTS = "kschedweb.plugins"


def _spec(
    name: str,
    points: str,
    help: str,
    arguments: ArgsSpec | None = None,
    *,
    weight: int = 0,
    gate: str = "",
) -> PluginSpec:
    return PluginSpec(name, frozenset(points.split()), help, arguments, weight, gate)


_FIT = ArgsSpec(args.FIT, arguments.fit_defaults, arguments.fit_problems, when_created=True)
_BALANCED = ArgsSpec(args.BALANCED_ALLOCATION, arguments.balanced_defaults, arguments.balanced_problems)
_NODE_AFFINITY = ArgsSpec(args.NODE_AFFINITY_ARGS, problems=arguments.node_affinity_problems)
_POD_AFFINITY = ArgsSpec(args.INTER_POD_AFFINITY, arguments.pod_affinity_defaults, arguments.pod_affinity_problems)
_SPREAD = ArgsSpec(args.POD_TOPOLOGY_SPREAD, arguments.spread_defaults, arguments.spread_problems)
_VOLUMES = ArgsSpec(args.VOLUME_BINDING, arguments.volume_binding_defaults, arguments.volume_binding_problems)
_PREEMPTION = ArgsSpec(args.DEFAULT_PREEMPTION, arguments.preemption_defaults, arguments.preemption_problems)
_DEVICES = ArgsSpec(args.DYNAMIC_RESOURCES, arguments.dynamic_resources_defaults, arguments.dynamic_resources_problems)

_DEFAULT_SPECS = (
    _spec("SchedulingGates", "preEnqueue", "Keeps a pod with scheduling gates out of the queue."),
    _spec("PrioritySort", "queueSort", "Puts pods of higher priority first, then those that wait longer."),
    _spec("NodeUnschedulable", "filter", "Refuses cordoned nodes unless the pod tolerates that."),
    _spec("NodeName", "filter", "Refuses every node but the one that the pod names."),
    _spec(
        "TaintToleration",
        "filter preScore score",
        "Refuses nodes with taints the pod does not tolerate, and prefers nodes with fewer soft taints.",
        weight=3,
    ),
    _spec(
        "NodeAffinity",
        "preFilter filter preScore score",
        "Matches the pod's node selector and node affinity, and scores its preferences.",
        _NODE_AFFINITY,
        weight=2,
    ),
    _spec("NodePorts", "preFilter filter", "Refuses nodes where a host port that the pod wants is taken."),
    _spec(
        "NodeResourcesFit",
        "preFilter filter preScore score placementScore",
        "Refuses nodes without enough free resources, and scores nodes by their use.",
        _FIT,
        weight=1,
    ),
    _spec("VolumeRestrictions", "preFilter filter", "Refuses nodes where a volume may not be used a second time."),
    _spec("NodeVolumeLimits", "preFilter filter", "Refuses nodes that can attach no further volume of a CSI driver."),
    _spec(
        "VolumeBinding",
        "preFilter filter preScore score reserve preBind",
        "Finds nodes where the pod's volumes exist or can be made, and binds them.",
        _VOLUMES,
    ),
    _spec("VolumeZone", "preFilter filter", "Refuses nodes outside the zone of the pod's volumes."),
    _spec(
        "PodTopologySpread",
        "preFilter filter preScore score",
        "Spreads pods evenly over zones, hosts or other domains.",
        _SPREAD,
        weight=2,
    ),
    _spec(
        "InterPodAffinity",
        "preFilter filter preScore score",
        "Places pods near to or away from other pods.",
        _POD_AFFINITY,
        weight=2,
    ),
    _spec(
        "DynamicResources",
        "preEnqueue preFilter filter postFilter score reserve preBind",
        "Finds nodes whose devices satisfy the pod's resource claims, and allocates them.",
        _DEVICES,
        weight=2,
    ),
    _spec(
        "DefaultPreemption",
        "preEnqueue postFilter",
        "Looks for pods of lower priority that could make room.",
        _PREEMPTION,
    ),
    _spec(
        "NodeResourcesBalancedAllocation",
        "preScore score",
        "Prefers nodes whose resources would be used in more equal shares.",
        _BALANCED,
        weight=1,
    ),
    _spec("ImageLocality", "score", "Prefers nodes that already hold the pod's images.", weight=1),
    _spec("DefaultBinder", "bind", "Binds the pod through the API server."),
    _spec("NodeDeclaredFeatures", "preFilter filter", "Refuses nodes that lack a feature the pod depends on."),
)
_GATED_SPECS = (
    _spec("GangScheduling", "preEnqueue permit", "Lets the pods of a group start together.", gate="GangScheduling"),
    _spec(
        "TopologyPlacementGenerator",
        "placementGenerate",
        "Proposes the domains that a pod group could be placed in.",
        gate="TopologyAwareWorkloadScheduling",
    ),
    _spec(
        "PodGroupPodsCount",
        "placementScore",
        "Prefers domains that hold more pods of the group.",
        gate="TopologyAwareWorkloadScheduling",
    ),
)

DEFAULT_PLUGINS: tuple[PluginRef, ...] = tuple(PluginRef(spec.name, spec.default_weight) for spec in _DEFAULT_SPECS)
"""The default set: multiPoint plugins in their order with their weights (0 where none is set)."""

IN_TREE_REGISTRY = Registry((*_DEFAULT_SPECS, *_GATED_SPECS), DEFAULT_PLUGINS)
IN_TREE: dict[str, frozenset[str]] = {name: spec.points for name, spec in IN_TREE_REGISTRY.specs.items()}
"""The extension points of each in-tree plugin."""

PLUGIN_HELP: dict[str, str] = {name: spec.help for name, spec in IN_TREE_REGISTRY.specs.items()}
"""One sentence for each in-tree plugin."""


@cache
def installed() -> Registry:
    """Return the in-tree plugins, the load-aware ones, HumanApproval, and those of installed packages.

    The latter come from entry points that load to a ``PluginSpec``.

    Raises ``PluginError`` naming the entry point that cannot be used.
    """
    registry = IN_TREE_REGISTRY.extended(*load_aware.LOAD_AWARE_SPECS, approval.SPEC)
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            spec = entry.load()
            if not isinstance(spec, PluginSpec):
                raise TypeError("is no PluginSpec")
            registry = registry.extended(spec)
        except Exception as error:
            # Whatever goes wrong while another package's code runs, that package is to be named.
            raise PluginError(f"the plugin {entry.name} ({entry.value}) cannot be used: {error}") from error
    return registry
