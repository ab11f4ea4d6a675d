"""What one release of kube-scheduler does otherwise than another: a value that a configuration carries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from kschedweb import __version__
from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import Factories, PluginRef, PluginSpec, Registry
from kschedweb.engine.objects.resources import Counting
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


def _no_plugins() -> Iterable[PluginSpec]:
    return ()


class GateError(ValueError):
    """Feature gates that kube-scheduler would not start with; the text is its own."""


@dataclass(frozen=True)
class Gate:
    """A feature gate as a release has it. ``stage``: alpha, beta, ga or deprecated; ``needs``: gates it depends on.

    ``is_unsimulated``: it changes what kube-scheduler decides, and answers here are those of its default all the same.
    """

    stage: str
    default: bool
    locked: bool = False
    needs: tuple[str, ...] = ()
    is_unsimulated: bool = False


@dataclass(frozen=True)
class Behaviour:
    """What kube-scheduler decides or says otherwise from release to release, without a feature gate.

    A line a difference; what a feature gate decides is asked with ``Release.is_enabled``.
    """

    score_weight_error_prefix: bool
    """What is wrong with weights is told as of ``score plugins``."""
    balanced_allocation_by_delta: bool
    """NodeResourcesBalancedAllocation scores what the pod changes (50 to 100), not what comes of it (0 to 100)."""
    image_locality_image_volumes: bool
    """ImageLocality counts the images of volumes."""
    image_locality_volume_scaling: bool
    """ImageLocality's threshold for the best score grows with each of them, as with each container."""
    dra_binding_timeout_argument: bool
    """DynamicResourcesArgs knows bindingTimeout."""
    dra_prioritized_list_scoring: bool
    """DynamicResources scores alternatives of prioritised lists."""
    dra_capacity_error_by_request: bool
    """An alternative that asks for capacity of devices without the feature gate is refused by its request's name."""
    dra_node_local_pools: bool
    """Of a pool of devices nothing counts but the slices that a node sees, as ``Features`` describes."""
    dra_early_allocator: bool
    """Devices are searched for in the early way that ``Features`` describes."""
    dra_revised_allocator: bool
    """Devices are searched for, and written, in the revised way that ``Features`` describes."""
    cel_includes_function: bool
    """includes() is a function in selectors of devices."""
    cel_typed_optionals: bool
    """Optionals in selectors keep what they hold, and whatever an attribute is, it takes macros and functions."""
    claim_delete_requeues: bool
    """A deleted ResourceClaim that had devices wakes pods that DynamicResources refused."""
    dra_capacity_error_with_status: bool
    """A claim that asks for capacity of devices is an error where DRAResourceClaimDeviceStatus is on, but
    DRAConsumableCapacity is not."""
    dra_postfilter_message: bool
    """DynamicResources' PostFilter says so where it cannot help."""
    preemption_placement_message: bool
    """DefaultPreemption says where it makes room."""
    taint_update_as_node_add: bool
    """A node's changed taint wakes the pods that plugins refused which wait for new nodes."""
    nomination_on_pod_add: bool
    """A pod's nomination counts from when the pod is there, gated or not, and not only once it may be tried."""
    gated_pods_flushed: bool
    """A gated pod that has waited for five minutes is looked at again, and every five minutes from then."""
    terminating_pods_release_node: bool
    """A pod on its way to a node gives it up once it is being deleted, not only when its binding has failed."""
    hints_include_nominated_pods: bool
    """Hints of affinity and spread see pods that are promised a node, and labels that the pod itself gets."""
    unstarted_victims_stable_order: bool
    """Victims of one priority that have not started stay in the order in which they are on the node."""
    namespace_selector_per_term: bool
    """A namespaceSelector of one term does not leave its namespaces to the term after it."""
    anti_affinity_symmetric_hint: bool
    """A pod that goes wakes those that its own anti-affinity kept away, not only those that wanted away from it."""
    anti_affinity_hint_matches_any_term: bool
    """For that one of several terms of anti-affinity need match, not all of them."""
    resize_pod_level_sums: bool
    """Of a pod under a resize the sums over its containers are compared, not each container's amounts."""
    strict_capacity_ratio_args: bool
    """requestedToCapacityRatio of NodeResourcesFit is required by the strategy of that name and refused by others."""
    qualified_name_error_text: bool
    """What may be a label's key is called a qualified name in errors."""
    bind_mount_options_feature: bool
    """bindMountOptions of a container need a feature that the node declares."""
    node_plugins_prefilter: bool
    """NodeName, NodeUnschedulable and TaintToleration run at preFilter; a named node is the only one looked at."""
    pod_group_entities: bool
    """With GenericWorkload a PodGroup (v1beta1) is queued and placed as one; what came before is not simulated."""


@dataclass(frozen=True, eq=False)
class Release:
    """One release of kube-scheduler. ``kschedweb.engine.releases`` has those that there are.

    ``specs`` are its plugins, ``defaults`` its default set in its order; ``extra_plugins`` gives plugins that run here
    beside them and is called once, when a configuration names one that is none of these. ``gates`` are the feature
    gates that it knows, ``switched`` those that were turned on or off. ``scheme`` is the place in its source that
    refuses an unknown kind, as errors say. ``silent_about_resizes`` are the plugins that are not asked about a running
    pod whose resize waits for room. ``files`` are the texts of files on its machine by path, as far as arguments of
    plugins point at them. ``nearest_to`` is the release that was asked for, where there is none and this is the
    nearest. ``cluster`` is the kind of snapshot that it sees, ``scheduler`` what runs a configuration and ``loader``
    what loads it: ``None`` for profiles. ``process`` is what a classic one was started with.
    """

    version: str
    specs: tuple[PluginSpec, ...]
    defaults: tuple[PluginRef, ...]
    schema: Schema
    gates: Mapping[str, Gate]
    behaviour: Behaviour
    scheme: str
    switched: Mapping[str, bool] = field(default_factory=dict)
    extra_plugins: Callable[[], Iterable[PluginSpec]] = _no_plugins
    silent_about_resizes: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    nearest_to: str = ""
    cluster: type[Snapshot] = Snapshot
    scheduler: Callable[..., Any] | None = None
    loader: Callable[[Any], Any] | None = None
    process: Mapping[str, Any] = field(default_factory=dict)

    @property
    def remark(self) -> str:
        """What whoever asked for a release that is not known has to be told; "" where it is the one that was asked."""
        if not self.nearest_to:
            return ""
        return f"kube-scheduler {self.nearest_to} is not known here: {self.name}, the nearest release, answers."

    @property
    def name(self) -> str:
        """The release without its patch, as "1.36"."""
        return ".".join(self.version.split(".")[:2])

    @property
    def title(self) -> str:
        """The kube-scheduler that it is, with the gates that were switched."""
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(self.switched.items()))
        return f"kube-scheduler {self.version}" + (f" with {gates}" if gates else "")

    @property
    def engine(self) -> str:
        """What an answer was made by: the version of kschedweb, and that of the kube-scheduler it stands for."""
        return f"kschedweb {__version__}, {self.title}"

    def is_enabled(self, gate: str) -> bool:
        """Whether the feature gate is on; one that the release does not know is off."""
        feature = self.gates.get(gate)
        return feature is not None and self.switched.get(gate, feature.default)

    def with_gates(self, switched: Mapping[str, bool]) -> Release:
        """The same release with these feature gates on or off. Raises ``GateError``."""
        return replace(self, switched=_check_gates(self.gates, dict(switched)))

    @property
    def has_group_scheduling(self) -> bool:
        """Whether pods of a PodGroup are scheduled together."""
        return self.behaviour.pod_group_entities and self.is_enabled("GenericWorkload")

    @property
    def has_topology_scheduling(self) -> bool:
        """Whether a group is tried in one domain after the other."""
        return self.has_group_scheduling and self.is_enabled("TopologyAwareWorkloadScheduling")

    @property
    def has_resize_preemption(self) -> bool:
        """Whether room is made for a running pod whose resize waits for it."""
        return self.is_enabled("InPlacePodVerticalScalingSchedulerPreemption")

    @property
    def unsimulated_gates(self) -> tuple[str, ...]:
        """The gates that are on or off other than by default, and whose effect is outside the simulation."""
        switched = sorted(self.switched)
        return tuple(
            name
            for name in switched
            if self.gates[name].is_unsimulated and self.is_enabled(name) is not self.gates[name].default
        )

    @property
    def counting(self) -> Counting:
        """How it counts what a running pod takes."""
        return Counting(
            self.behaviour.resize_pod_level_sums,
            self.is_enabled("InPlacePodLevelResourcesVerticalScaling"),
            self.is_enabled("PodLevelResourcesFixDefaulting"),
        )

    @property
    def view(self) -> tuple[type[Snapshot], Counting]:
        """How it sees a cluster: the same for all releases that see any cluster alike."""
        return self.cluster, self.counting

    def build_snapshot(self, objects: Iterable[Any]) -> Snapshot:
        """A cluster of today, given as raw objects, as it sees it."""
        return self.cluster.from_objects(map(self.cluster.of_today, objects), counting=self.counting)

    @cached_property
    def in_tree_plugins(self) -> Registry:
        """kube-scheduler's plugins as they are in it, with its default set."""
        specs = [self._adapt_spec(spec) for spec in self.specs]
        off = {spec.name for spec in specs if spec.gate and not self.is_enabled(spec.gate)}
        return Registry.from_specs(specs, tuple(ref for ref in self.defaults if ref.name not in off))

    @cached_property
    def registry(self) -> Registry:
        """The plugins that a configuration may name."""
        return self.in_tree_plugins.with_plugins(lambda: map(self._adapt_spec, self.extra_plugins()))

    def _adapt_spec(self, spec: PluginSpec) -> PluginSpec:
        spec = spec.as_in(self)
        spec.validate_points()
        return replace(spec, points=spec.points.intersection(self.schema.plugin_sets))

    @cached_property
    def factories(self) -> Factories:
        return Factories(self.registry)

    def with_plugins(self, *specs: PluginSpec) -> Release:
        """The same release where ``specs`` run too; the default set stays the same."""
        return replace(self, extra_plugins=lambda: (*self.extra_plugins(), *specs))


STAGE_GATES = {"AllAlpha": "alpha", "AllBeta": "beta"}


def _check_gates(gates: Mapping[str, Gate], requested: dict[str, bool]) -> dict[str, bool]:
    """The gates that ``requested`` sets, those of a whole stage among them. Raises ``GateError``."""
    for name, on in sorted(requested.items()):
        if name not in gates and name not in STAGE_GATES:
            raise GateError(f"unrecognized feature gate: {name}")
        if name in gates and gates[name].locked and gates[name].default is not on:
            locked = str(gates[name].default).lower()
            raise GateError(f"cannot set feature gate {name} to {str(on).lower()}, feature is locked to {locked}")
    wide = {stage: requested.pop(name) for name, stage in STAGE_GATES.items() if name in requested}
    effective = {
        name: wide[gate.stage] for name, gate in gates.items() if gate.stage in wide and not gate.locked
    } | requested
    for name, gate in gates.items():
        if effective.get(name, gate.default):
            off = [need for need in gate.needs if need in gates and not effective.get(need, gates[need].default)]
            if off:
                raise GateError(f"{name} is enabled, but depends on features that are disabled: [{' '.join(off)}]")
    return effective
