"""NodeDeclaredFeatures rejects nodes that do not declare a feature the pod needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.events import NODE, POD, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import Cycle, PreFilterResult, Scope, Verdicts
from kschedweb.engine.framework.status import SKIP, unresolvable
from kschedweb.engine.objects.access import Json, mapping, objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Rows

REJECTED = unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL, HOST_USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures:
    name = "NodeDeclaredFeatures"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_DECLARED_FEATURE), _after_node),
            EventHint(ClusterEvent(POD, Action.UPDATE), _after_own_update),
        ]

    def scope(self, pod: Pod) -> Scope:
        return Scope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = needed = needed_features(mapping(cycle.pod.raw, "spec"))
        return PreFilterResult() if needed else PreFilterResult(SKIP)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        needed = cycle.state.get(self.name) or needed_features(mapping(cycle.pod.raw, "spec"))
        lacking = np.array([not needed <= node.declared_features for node in cycle.snapshot.nodes], dtype=np.bool_)
        return Verdicts.where(lacking[rows], REJECTED)


def needed_features(spec: Json) -> frozenset[str]:
    """The node features that a pod's spec requires."""
    needed = set()
    for container in objects(spec, "initContainers") + objects(spec, "containers"):
        if any(rule.get("action") == "RestartAllContainers" for rule in objects(container, "restartPolicyRules")):
            needed.add(RESTART_ALL)
    if spec.get("hostNetwork") is True and spec.get("hostUsers") is False:
        needed.add(HOST_USERS)
    return frozenset(needed)


def _after_node(pod: Pod, change: ObjectChange) -> bool:
    return change.old is None or bool(change.old.declared_features != change.new.declared_features)


def _after_own_update(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod needs other features now."""
    if change.new.uid != pod.uid:
        return False
    before, after = (needed_features(mapping(one.raw, "spec")) for one in (change.old, change.new))
    return before != after


SPEC = PluginSpec(
    "NodeDeclaredFeatures",
    frozenset({"preFilter", "filter"}),
    "Refuses nodes that lack a feature the pod depends on.",
    factory=NodeDeclaredFeatures,
)
