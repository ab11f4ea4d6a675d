"""What one release of kube-scheduler does otherwise than another: a value that a configuration carries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kschedweb import __version__
from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginRef, PluginSpec, Registry
from kschedweb.engine.objects.resources import Counting


def _nobody() -> Iterable[PluginSpec]:
    return ()


class GateError(ValueError):
    """Feature gates that kube-scheduler would not start with; the text is its own."""


@dataclass(frozen=True)
class Gate:
    """A feature gate as a release has it. ``stage``: alpha, beta, ga or deprecated; ``needs``: gates it depends on."""

    stage: str
    default: bool
    locked: bool = False
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Behaviour:
    """What kube-scheduler decides or says otherwise from release to release, without a feature gate.

    A line a difference; what a feature gate decides is asked with ``Release.on``.
    """

    names_score_plugins: bool
    """What is wrong with weights is told as of ``score plugins``."""
    balances_by_improvement: bool
    """NodeResourcesBalancedAllocation scores what the pod changes (50 to 100), not what comes of it (0 to 100)."""
    image_volumes_are_images: bool
    """ImageLocality counts the images of volumes."""
    image_volumes_raise_threshold: bool
    """ImageLocality's threshold for the best score grows with each of them, as with each container."""
    devices_have_binding_timeout: bool
    """DynamicResourcesArgs knows bindingTimeout."""
    devices_score: bool
    """DynamicResources scores alternatives of prioritised lists."""
    device_capacity_is_refused_by_request: bool
    """An alternative that asks for capacity of devices without the feature gate is refused by its request's name."""
    device_search_is_early: bool
    """Devices are searched for in the early way that ``Features`` describes."""
    device_search_is_revised: bool
    """Devices are searched for, and written, in the revised way that ``Features`` describes."""
    hears_of_deleted_claims: bool
    """A deleted ResourceClaim that had devices wakes pods that DynamicResources refused."""
    tells_of_devices_left: bool
    """DynamicResources' PostFilter says so where it cannot help."""
    tells_of_preemption: bool
    """DefaultPreemption says where it makes room."""
    keeps_order_of_unstarted: bool
    """Victims of one priority that have not started stay in the order in which they are on the node."""
    selects_namespaces_by_value: bool
    """A namespaceSelector of one term does not leave its namespaces to the term after it."""
    resizes_by_sums: bool
    """Of a pod under a resize the sums over its containers are compared, not each container's amounts."""
    ratio_only_where_it_is_used: bool
    """requestedToCapacityRatio of NodeResourcesFit is required by the strategy of that name and refused by others."""
    says_qualified_name: bool
    """What may be a label's key is called a qualified name in errors."""
    mounts_need_features: bool
    """bindMountOptions of a container need a feature that the node declares."""
    node_filters_have_pre_filter: bool
    """NodeName, NodeUnschedulable and TaintToleration run at preFilter; a named node is the only one looked at."""


@dataclass(frozen=True, eq=False)
class Release:
    """One release of kube-scheduler. ``kschedweb.engine.releases`` has those that there are.

    ``specs`` are its plugins, ``defaults`` its default set in its order; ``others`` gives plugins that run here beside
    them and is called once, when a configuration is read. ``gates`` are the feature gates that it knows, ``switched``
    those that were turned on or off. ``scheme`` is the place in its source that refuses an unknown kind, as errors say.
    """

    version: str
    specs: tuple[PluginSpec, ...]
    defaults: tuple[PluginRef, ...]
    schema: Schema
    gates: Mapping[str, Gate]
    behaviour: Behaviour
    scheme: str
    switched: Mapping[str, bool] = field(default_factory=dict)
    others: Callable[[], Iterable[PluginSpec]] = _nobody

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

    def on(self, gate: str) -> bool:
        """Whether the feature gate is on; one that the release does not know is off."""
        known = self.gates.get(gate)
        return known is not None and self.switched.get(gate, known.default)

    def with_gates(self, switched: Mapping[str, bool]) -> Release:
        """The same release with these feature gates on or off. Raises ``GateError``."""
        return replace(self, switched=_checked(self.gates, dict(switched)))

    @property
    def counting(self) -> Counting:
        """How it counts what a running pod takes."""
        return Counting(self.behaviour.resizes_by_sums, self.on("InPlacePodLevelResourcesVerticalScaling"))

    @cached_property
    def own(self) -> Registry:
        """kube-scheduler's plugins as they are in it, with its default set."""
        specs = [self._as_here(spec) for spec in self.specs]
        off = {spec.name for spec in specs if spec.gate and not self.on(spec.gate)}
        return Registry.of(specs, tuple(ref for ref in self.defaults if ref.name not in off))

    @cached_property
    def registry(self) -> Registry:
        """The plugins that a configuration may name. Raises ``PluginError`` where one of ``others`` cannot be used."""
        return self.own.extended(*map(self._as_here, self.others()))

    def _as_here(self, spec: PluginSpec) -> PluginSpec:
        spec = spec.as_in(self)
        spec.check()
        return replace(spec, points=spec.points.intersection(self.schema.sets))

    @cached_property
    def factories(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        """Plugin name -> factory taking the plugin's arguments, of every plugin that decides anything."""
        return {spec.name: spec.factory for spec in self.registry.specs.values() if spec.factory}

    def extended(self, *specs: PluginSpec) -> Release:
        """The same release where ``specs`` run too; the default set stays the same."""
        return replace(self, others=lambda: (*self.others(), *specs))


ALL = {"AllAlpha": "alpha", "AllBeta": "beta"}


def _checked(gates: Mapping[str, Gate], asked: dict[str, bool]) -> dict[str, bool]:
    """The gates that ``asked`` sets, those of a whole stage among them. Raises ``GateError``."""
    for name, on in sorted(asked.items()):
        if name not in gates and name not in ALL:
            raise GateError(f"unrecognized feature gate: {name}")
        if name in gates and gates[name].locked and gates[name].default is not on:
            locked = str(gates[name].default).lower()
            raise GateError(f"cannot set feature gate {name} to {str(on).lower()}, feature is locked to {locked}")
    wide = {stage: asked.pop(name) for name, stage in ALL.items() if name in asked}
    found = {name: wide[gate.stage] for name, gate in gates.items() if gate.stage in wide and not gate.locked} | asked
    for name, gate in gates.items():
        if found.get(name, gate.default):
            off = [need for need in gate.needs if need in gates and not found.get(need, gates[need].default)]
            if off:
                raise GateError(f"{name} is enabled, but depends on features that are disabled: [{' '.join(off)}]")
    return found
