"""TopologyPlacementGenerator proposes each domain of a group's topology: the nodes with one value of a label."""

from __future__ import annotations

from functools import partial

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.groups import Domain, GroupCycle
from kschedweb.engine.framework.status import SUCCESS, CycleError, Status, error
from kschedweb.engine.validation.golang import quote

NAME = "TopologyPlacementGenerator"


class TopologyPlacementGenerator:
    name = NAME

    def __init__(self, args: PluginArgs, hierarchies: bool = False) -> None:
        """``hierarchies``: an empty label is no domain; see ``Behaviour.pod_group_hierarchies``."""
        self.hierarchies = hierarchies

    def generate_placements(self, cycle: GroupCycle, parent: Domain) -> tuple[list[Domain], Status]:
        """Return the domains within ``parent``, by name. If pods of the group run already, only their domain counts.

        kube-scheduler leaves the order of the domains to chance.
        """
        key = cycle.group.topology_key
        if not key:
            return [parent], SUCCESS
        try:
            required = self._find_domain(cycle, key)
        except CycleError as problem:
            return [], error(f"cannot determine domain for already scheduled pods: {problem}")
        nodes: dict[str, list[int]] = {}
        for node in parent.nodes.tolist():
            value = cycle.snapshot.nodes[node].labels.get(key)
            if value is not None and required in (None, value) and (value or not self.hierarchies):
                nodes.setdefault(value, []).append(node)
        return [
            Domain(value, np.array(positions, dtype=np.intp)) for value, positions in sorted(nodes.items())
        ], SUCCESS

    def _find_domain(self, cycle: GroupCycle, key: str) -> str | None:
        """Return the domain of the pods that have a node; ``None`` if none has one. Raises CycleError if they
        differ."""
        domain: str | None = None
        for pod in cycle.scheduled_pods:
            value = cycle.snapshot.nodes[cycle.snapshot.index[pod.node_name]].labels.get(key)
            if value is None:
                raise CycleError(f"no topology domain found for pod {pod.key}")
            if not value and self.hierarchies:
                raise CycleError(f"empty topology domain found for pod {pod.key}")
            if domain and domain != value:
                both = f"{quote(domain)}, {quote(value)}" if self.hierarchies else f"{domain}, {value}"
                raise CycleError(f"more than 1 domain found for pod group: {both}")
            domain = value
        return domain


SPEC = PluginSpec(
    NAME,
    frozenset({"placementGenerate"}),
    "Proposes the domains that a pod group could be placed in.",
    gate="TopologyAwareWorkloadScheduling",
    variant=lambda release: {
        "factory": partial(TopologyPlacementGenerator, hierarchies=release.behaviour.pod_group_hierarchies)
        if release.has_topology_scheduling
        else None
    },
)
