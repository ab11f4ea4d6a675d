"""Reasons why pods cannot be a group, or groups a tree: kube-scheduler's checks before it tries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.group_tree import GroupTree
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

# Levels of a tree of groups; the lowest has groups of pods only.
MAX_DEPTH = 4
PODS_IN_HIERARCHY = "all pods in a pod group hierarchy"
GROUPS_IN_HIERARCHY = "all pod groups in a hierarchy"


def find_group_refusal(group: PodGroup, pods: Sequence[Pod], snapshot: Snapshot) -> str:
    """Return why 1.37 does not take ``pods`` and those of the group that are on nodes as a group; "" if it does."""
    first = pods[0]
    for pod in [*pods, *snapshot.group_members(group.key)]:
        if pod.scheduler_name != first.scheduler_name:
            names = f"{quote(pod.scheduler_name)} and {quote(first.scheduler_name)}"
            return f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
        if pod.priority != group.priority:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f"got {pod.priority} and {group.priority}"
            )
        if _preemption_policy(pod) != _preemption_policy(first):
            both = f"{_preemption_policy(pod)} and {_preemption_policy(first)}"
            return f"all pods in a single pod group should have the same preemption policy, got {both}"
    return ""


def find_hierarchy_refusal(tree: GroupTree, snapshot: Snapshot) -> str:
    """Return why 1.38 does not take a tree of groups, or a single one, with its pods; "" if it does.

    It does the same as `validatePodGroupHierarchy`: groups are checked before those below them.
    """
    first = tree.all_pods[0]
    policy = tree.group.preemption_policy or _preemption_policy(first)
    return _HierarchyCheck(tree.group, first, policy, snapshot).check_tree(tree, None, 1)


@dataclass(frozen=True, slots=True)
class _HierarchyCheck:
    root: PodGroup
    # The pod whose schedulerName the others must have.
    first: Pod
    # The preemption policy that all must have.
    policy: str
    snapshot: Snapshot = field(repr=False)

    def check_tree(self, tree: GroupTree, parent: PodGroup | None, depth: int) -> str:
        group = tree.group
        if group.is_composite and depth == MAX_DEPTH:
            return f"hierarchy depth exceeds maximum allowed depth {MAX_DEPTH} at {quote(group.entity)}"
        if parent is not None and (refusal := self._check_group(group, parent)):
            return refusal
        for child in tree.children:
            if refusal := self.check_tree(child, group, depth + 1):
                return refusal
        bound = [] if group.is_composite else self.snapshot.group_members(group.key)
        return next(filter(None, map(self._check_pod, [*tree.pods, *bound])), "")

    def _check_group(self, group: PodGroup, parent: PodGroup) -> str:
        name, root_name, above = quote(group.entity), quote(self.root.entity), quote(parent.entity)
        if group.workload != self.root.workload:
            both = f"{quote(group.workload)} ({name}) and {quote(self.root.workload)} ({root_name})"
            return f"pod group workload does not match root workload, got: {both}"
        if group.priority != self.root.priority:
            both = f"{group.priority} ({name}) and {self.root.priority} ({root_name})"
            return f"{GROUPS_IN_HIERARCHY} should have the same priority as the root pod group's priority, got {both}"
        if group.preemption_policy not in ("", self.policy):
            both = f"{group.preemption_policy} ({name}) and {self.policy}"
            return f"{GROUPS_IN_HIERARCHY} should have the same preemption policy, got {both}"
        if parent.min_count is not None and group.is_basic:
            return f"gang parent {above} cannot have basic child {name}"
        if parent.disrupted_whole and group.disrupted_singly:
            return f"parent {above} with All disruption mode cannot have child {name} with Single disruption mode"
        return ""

    def _check_pod(self, pod: Pod) -> str:
        name, first = quote(pod.name), self.first
        if pod.scheduler_name != first.scheduler_name:
            both = f"{quote(pod.scheduler_name)} ({name}) and {quote(first.scheduler_name)} ({quote(first.name)})"
            return f"{PODS_IN_HIERARCHY} should have the same .spec.schedulerName set, got: {both}"
        if pod.priority != self.root.priority:
            both = f"{pod.priority} ({name}) and {self.root.priority} ({quote(self.root.entity)})"
            return f"{PODS_IN_HIERARCHY} should have the same priority as the root pod group's priority, got {both}"
        if _preemption_policy(pod) != self.policy:
            both = f"{_preemption_policy(pod)} ({name}) and {self.policy}"
            return f"{PODS_IN_HIERARCHY} should have the same preemption policy, got {both}"
        return ""


def _preemption_policy(pod: Pod) -> str:
    return get_mapping(pod.raw, "spec").get("preemptionPolicy") or "PreemptLowerPriority"
