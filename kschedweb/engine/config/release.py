"""The differences between releases of kube-scheduler, as a value that a configuration carries."""

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
    """A feature gate as one release has it."""

    # alpha, beta, ga or deprecated.
    stage: str
    default: bool
    locked: bool = False
    # Gates that it depends on.
    needs: tuple[str, ...] = ()
    # It changes kube-scheduler's decisions, but answers here are always those of its default.
    is_unsimulated: bool = False


@dataclass(frozen=True)
class Behaviour:
    """The differences in decisions and messages from release to release that have no feature gate.

    Each release sets the flags that it changes. For feature gates there is ``Release.is_enabled``.
    """

    # Errors about weights begin with ``score plugins``.
    score_weight_error_prefix: bool
    # NodeResourcesBalancedAllocation scores the change that the pod makes (50 to 100), not the result (0 to 100).
    balanced_allocation_by_delta: bool
    # ImageLocality counts the images of volumes.
    image_locality_image_volumes: bool
    # ImageLocality's threshold for the best score grows with each image volume, as with each container.
    image_locality_volume_scaling: bool
    # DynamicResourcesArgs has bindingTimeout.
    dra_binding_timeout_argument: bool
    # DynamicResources scores the alternatives of prioritised lists.
    dra_prioritized_list_scoring: bool
    # If an alternative asks for capacity of devices without the feature gate, the error names its request.
    dra_capacity_error_by_request: bool
    # Of a pool of devices only the slices that the node sees count, as ``Features`` describes.
    dra_node_local_pools: bool
    # Devices are allocated in the early way that ``Features`` describes.
    dra_early_allocator: bool
    # Devices are allocated, and written, in the revised way that ``Features`` describes.
    dra_revised_allocator: bool
    # Selectors of devices have the function includes().
    cel_includes_function: bool
    # Optionals in selectors keep the type of their value, and attributes of any type take macros and functions.
    cel_typed_optionals: bool
    # The deletion of a ResourceClaim that had devices requeues pods that DynamicResources rejected.
    claim_delete_requeues: bool
    # A claim that asks for capacity of devices is an error if DRAResourceClaimDeviceStatus is on without
    # DRAConsumableCapacity.
    dra_capacity_error_with_status: bool
    # DynamicResources' PostFilter says so if it cannot help.
    dra_postfilter_message: bool
    # DefaultPreemption's message names the node where it makes room.
    preemption_placement_message: bool
    # A changed taint of a node requeues rejected pods whose plugins wait for new nodes.
    taint_update_as_node_add: bool
    # A pod's nomination counts as soon as the pod is added, gated or not, rather than once it may be tried.
    nomination_on_pod_add: bool
    # A gated pod is moved after five minutes of waiting, and every five minutes from then.
    gated_pods_flushed: bool
    # A pod on its way to a node gives the node up once it is being deleted, not only when its binding has failed.
    terminating_pods_release_node: bool
    # Hints of affinity and spread see pods that are nominated to a node, and label changes of the pod itself.
    hints_include_nominated_pods: bool
    # Victims of one priority that have not started keep their order on the node.
    unstarted_victims_stable_order: bool
    # A namespaceSelector of one term does not carry its namespaces over to the next term.
    namespace_selector_per_term: bool
    # A deleted pod requeues pods that its own anti-affinity kept away, not only those whose anti-affinity it matched.
    anti_affinity_symmetric_hint: bool
    # For that hint one of several anti-affinity terms has to match, not all of them.
    anti_affinity_hint_matches_any_term: bool
    # For a pod under a resize the sums over its containers are compared, not each container's amounts.
    resize_pod_level_sums: bool
    # requestedToCapacityRatio of NodeResourcesFit is required by the strategy of that name and refused by others.
    strict_capacity_ratio_args: bool
    # Errors call a label's key a qualified name.
    qualified_name_error_text: bool
    # bindMountOptions of a container need a feature that the node declares.
    bind_mount_options_feature: bool
    # NodeName, NodeUnschedulable and TaintToleration run at preFilter; a named node is the only one looked at.
    node_plugins_prefilter: bool
    # With GenericWorkload a PodGroup (v1beta1) is queued and placed as one. Earlier designs are not simulated.
    pod_group_entities: bool
    # A spread constraint with an empty selector counts all pods of the namespace, not none.
    spread_empty_selector: bool = False
    # NodeResourcesFit scores by the resources of the pod as a whole, and by those in its status.
    fit_score_pod_level: bool = False
    # Sums of amounts stop at the largest int64 rather than wrap around, and scores of larger products are exact.
    saturating_amounts: bool = False
    # CSIStorageCapacity is compared exactly, not in whole bytes.
    exact_storage_capacity: bool = False
    # Certificates with keys of ML-DSA and seccomp profiles of type OCI need features that the node declares.
    pod_security_features: bool = False
    # Devices are allocated, and written, by one allocator as ``Features`` describes.
    dra_unified_allocator: bool = False
    # Victims that are equal otherwise are ordered by UID.
    victim_ties_by_uid: bool = False
    # A disruption budget with an empty selector protects all pods of its namespace, not none.
    budget_empty_selector: bool = False
    # Extenders are asked about nodes on which nothing in tree has to be evicted.
    extender_victimless_nodes: bool = False
    # Several plugins may generate placements: each placement of one is merged with each of the others.
    placement_merging: bool = False
    # GangScheduling does not hold pods at Permit: those of a feasible placement are bound.
    gang_permit: bool = True
    # A group that looks for victims ranks the nodes before it filters them. A member of a group that does not go as a
    # whole is a victim like a single pod.
    workload_preemption: bool = False
    # A pod is tried again when the node that it waits for becomes too small for it.
    shrunk_node_hint: bool = False
    # InterPodAffinity asks the labels of namespaces, too, whether the change of a pod helps; an unknown one does.
    namespace_label_hints: bool = False
    # A group is a tree, of which a single PodGroup is the smallest: it is validated and told about as such.
    pod_group_hierarchies: bool = False


@dataclass(frozen=True, eq=False)
class Release:
    """One release of kube-scheduler. ``kschedweb.engine.releases`` has the known ones."""

    version: str
    # Its plugins.
    specs: tuple[PluginSpec, ...]
    # Its default plugins, in their order.
    defaults: tuple[PluginRef, ...]
    schema: Schema
    # The feature gates that it knows.
    gates: Mapping[str, Gate]
    behaviour: Behaviour
    # The place in its source that refuses an unknown kind, as its errors name it.
    scheme: str
    # Feature gates that were turned on or off.
    switched: Mapping[str, bool] = field(default_factory=dict)
    # Further plugins that run here. Called once, when a configuration names a plugin that is not in ``specs``.
    extra_plugins: Callable[[], Iterable[PluginSpec]] = _no_plugins
    # Plugins that are not asked about a running pod whose resize waits for room.
    silent_about_resizes: frozenset[str] = frozenset()
    # Texts of files on its machine by path, for arguments of plugins that point at them.
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    # The requested release, if it is unknown and this is the nearest one; "" otherwise.
    nearest_to: str = ""
    # The kind of snapshot that it sees.
    cluster: type[Snapshot] = Snapshot
    # Creates the scheduler of a configuration, and loads one; ``None`` for releases with profiles.
    scheduler: Callable[..., Any] | None = None
    loader: Callable[[Any], Any] | None = None
    # Settings that a classic process was started with.
    process: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_preview(self) -> bool:
        """True for a version before the release, such as "1.38.0-beta.0"."""
        return "-" in self.version

    @property
    def remark(self) -> str:
        """The remark that the requested release is unknown or a preview; "" if it is known and released."""
        if self.nearest_to:
            return f"kube-scheduler {self.nearest_to} is not known here: {self.label}, the nearest release, answers."
        return f"kube-scheduler {self.label} answers: the release itself may differ." if self.is_preview else ""

    @property
    def name(self) -> str:
        """The release without its patch, such as "1.36"."""
        return ".".join(self.version.split(".")[:2])

    @property
    def label(self) -> str:
        """The release as it is chosen: "1.37", or "1.38 preview (1.38.0-beta.0)"."""
        return f"{self.name} preview ({self.version})" if self.is_preview else self.name

    @property
    def title(self) -> str:
        """The kube-scheduler's version, with the gates that were switched."""
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(self.switched.items()))
        return f"kube-scheduler {self.version}" + (f" with {gates}" if gates else "")

    @property
    def engine(self) -> str:
        """The version of kschedweb and of the kube-scheduler that it stands for, as answers name them."""
        return f"kschedweb {__version__}, {self.title}"

    def is_enabled(self, gate: str) -> bool:
        """Return whether the feature gate is on. A gate that the release does not know is off."""
        feature = self.gates.get(gate)
        return feature is not None and self.switched.get(gate, feature.default)

    def with_gates(self, switched: Mapping[str, bool]) -> Release:
        """Return the same release with these feature gates on or off. Raises ``GateError``."""
        return replace(self, switched=_check_gates(self.gates, dict(switched)))

    @property
    def has_group_scheduling(self) -> bool:
        """True if the pods of a PodGroup are scheduled together."""
        return self.behaviour.pod_group_entities and self.is_enabled("GenericWorkload")

    @property
    def has_topology_scheduling(self) -> bool:
        """True if a group is tried in one domain after the other."""
        return self.has_group_scheduling and self.is_enabled("TopologyAwareWorkloadScheduling")

    @property
    def has_composite_groups(self) -> bool:
        """True if a group may be part of a CompositePodGroup, with which it is tried."""
        follows = self.behaviour.pod_group_hierarchies and self.has_topology_scheduling
        return follows and self.is_enabled("CompositePodGroup")

    @property
    def entity_label(self) -> str:
        """The label that tells pods and groups apart in its metrics of the queue; "" if it has no such metrics."""
        if not self.behaviour.pod_group_entities:
            return ""
        return "entity" if self.behaviour.pod_group_hierarchies else "type"

    @property
    def has_resize_preemption(self) -> bool:
        """True if preemption makes room for a running pod whose resize waits for it."""
        return self.is_enabled("InPlacePodVerticalScalingSchedulerPreemption")

    @property
    def has_placement_percentage(self) -> bool:
        """True if percentageOfPlacementsToScore may be set."""
        return self.schema.placement_percentage and self.is_enabled("TopologyAwareWorkloadScheduling")

    @property
    def unsimulated_gates(self) -> tuple[str, ...]:
        """The gates that differ from their default and whose effect is not simulated."""
        switched = sorted(self.switched)
        return tuple(
            name
            for name in switched
            if self.gates[name].is_unsimulated and self.is_enabled(name) is not self.gates[name].default
        )

    @property
    def counting(self) -> Counting:
        """The way in which it counts the resources of a running pod."""
        return Counting(
            self.behaviour.resize_pod_level_sums,
            self.is_enabled("InPlacePodLevelResourcesVerticalScaling"),
            self.is_enabled("PodLevelResourcesFixDefaulting"),
            self.behaviour.saturating_amounts,
        )

    @property
    def view(self) -> tuple[type[Snapshot], Counting]:
        """The way in which it sees a cluster: equal for all releases that see every cluster alike."""
        return self.cluster, self.counting

    def build_snapshot(self, objects: Iterable[Any]) -> Snapshot:
        """Return a snapshot of a present-day cluster, given as raw objects."""
        return self.cluster.from_objects(map(self.cluster.of_today, objects), counting=self.counting)

    @cached_property
    def in_tree_plugins(self) -> Registry:
        """kube-scheduler's own plugins, with its default set."""
        specs = [self._adapt_spec(spec) for spec in self.specs]
        off = {spec.name for spec in specs if spec.gate and not self.is_enabled(spec.gate)}
        return Registry.from_specs(specs, tuple(ref for ref in self.defaults if ref.name not in off))

    @cached_property
    def registry(self) -> Registry:
        """The plugins that a configuration may name."""
        return self.in_tree_plugins.with_plugins(lambda: map(self._adapt_spec, self.extra_plugins()))

    def list_disabled_by_default(self, point: str) -> list[str]:
        """Return the default plugins that do not run at ``point`` unless a feature gate is on."""
        specs = filter(None, (self.registry.get(ref.name) for ref in self.registry.defaults))
        return [
            spec.name for spec in specs if point in spec.gated_points and not self.is_enabled(spec.gated_points[point])
        ]

    def _adapt_spec(self, spec: PluginSpec) -> PluginSpec:
        spec = spec.as_in(self)
        spec.validate_points()
        return replace(spec, points=spec.points.intersection(self.schema.plugin_sets))

    @cached_property
    def factories(self) -> Factories:
        return Factories(self.registry)

    def with_plugins(self, *specs: PluginSpec) -> Release:
        """Return the same release with ``specs`` as further plugins; the default set stays the same."""
        return replace(self, extra_plugins=lambda: (*self.extra_plugins(), *specs))


STAGE_GATES = {"AllAlpha": "alpha", "AllBeta": "beta"}


def _check_gates(gates: Mapping[str, Gate], requested: dict[str, bool]) -> dict[str, bool]:
    """Return the effective settings of ``requested``, with AllAlpha and AllBeta expanded. Raises ``GateError``."""
    errors: list[str] = []
    for name, on in requested.items():
        if name not in gates and name not in STAGE_GATES:
            raise GateError(f"unrecognized feature gate: {name}")
        if name in gates and gates[name].locked and gates[name].default is not on:
            locked = str(gates[name].default).lower()
            errors.append(f"cannot set feature gate {name} to {str(on).lower()}, feature is locked to {locked}")
    _raise_gate_errors(errors)
    # A gate that is named itself wins over AllAlpha and AllBeta.
    wide = {stage: requested.pop(name) for name, stage in STAGE_GATES.items() if name in requested}
    effective = {
        name: wide[gate.stage] for name, gate in gates.items() if gate.stage in wide and not gate.locked
    } | requested
    for name, gate in gates.items():
        if effective.get(name, gate.default):
            off = [need for need in gate.needs if need in gates and not effective.get(need, gates[need].default)]
            if off:
                errors.append(f"{name} is enabled, but depends on features that are disabled: [{' '.join(off)}]")
    _raise_gate_errors(errors)
    return effective


def _raise_gate_errors(errors: list[str]) -> None:
    if errors:
        raise GateError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
