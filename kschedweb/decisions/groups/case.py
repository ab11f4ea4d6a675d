"""Decide what would become of a group of pods in a snapshot under a policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.case import Case
from kschedweb.decisions.decider import ProfileMissing
from kschedweb.decisions.deciders import PROFILES
from kschedweb.decisions.decision import Decision
from kschedweb.engine import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.framework.status import SUCCESS, CycleError
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kschedweb.decisions.groups.group_status import GroupStatus
    from kschedweb.decisions.groups.rules import GroupRules
    from kschedweb.engine import Explanation, Pod
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.cycle.group_placement import DomainTry, GroupPlacement
    from kschedweb.jobs.inquiries import Step


@dataclass(frozen=True)
class GroupCase:
    """A group, and the result of one scheduling cycle of it."""

    group_status: GroupStatus
    rules: GroupRules
    # None if it is not scheduled as a group.
    placement: GroupPlacement | None = None
    # Why the first pod without a node has none, in plain words; "" without such a pod.
    blocked: str = ""
    # The results of all groups of the tree that it is part of, parents first; empty if it is alone.
    tree: tuple[GroupPlacement, ...] = ()
    # The scheduler of its pods if neither the policy nor a live scheduler has that name, else "".
    handled_by: str = ""

    @property
    def freed(self) -> list[str]:
        """Return the claims ("namespace/name") whose devices kube-scheduler would release so that the group fits."""
        room = None if self.placement is None else self.placement.room
        claims = [] if room is None else [claim for listed in room.frees.values() for claim in listed]
        return sorted({f"{claim.namespace}/{claim.claim}" for claim in claims})

    @property
    def first_try(self) -> DomainTry | None:
        """Return the domain that the answer is about: the one taken, else the first."""
        placement = self.placement
        if placement is None or not placement.tries:
            return None
        return next(
            (
                domain_try
                for domain_try in placement.tries
                if placement.placed and domain_try.domain.name == placement.domain
            ),
            placement.tries[0],
        )


def group_case(
    engine: EngineSnapshot, group_status: GroupStatus, rules: GroupRules, step: Step, is_live: Callable[[str], bool]
) -> GroupCase:
    """Try the group on a copy of ``engine``; ``step`` is called for each pod that is tried.

    ``is_live`` is as for ``Decider.decide_pod``. Raises Unprocessable if the cycle of the group fails.
    """
    scheduler = Scheduler(engine, rules.configuration)
    try:
        pods = tuple(PROFILES.as_profile(scheduler, pod, is_live) for pod in group_status.pending)
    except ProfileMissing as error:
        return GroupCase(group_status, rules, handled_by=error.scheduler_name)
    group, group_status = group_status.group, replace(group_status, pending=pods)
    if group is None or not pods or not rules.configuration.release.has_group_scheduling:
        return GroupCase(group_status, rules)
    root, tree_pods = group, pods
    if rules.configuration.release.has_composite_groups and group.parent:
        root = engine.objects.groups.find_root(group.key) or group
        leaves = {leaf.key for leaf in engine.objects.groups.list_leaves(root)} - {group.key}
        tree_pods += tuple(pod for pod in engine.pending if pod.scheduling_group in leaves and not pod.terminating)
    try:
        whole = scheduler.explain_group(
            root, tree_pods, SearchRequest(post_filter=True, watch=_ProgressStopwatch(step))
        )
    except CycleError as error:
        raise Unprocessable(f"The scheduling cycle of {group_status.key} fails: {error}") from None
    placement = next(part for part in whole.by_group if part.group is group)
    placement = replace(placement, pre_enqueue_status=whole.pre_enqueue_status)
    case = GroupCase(group_status, rules, placement, tree=whole.by_group if whole.parts else ())
    return replace(case, blocked=_explain_blocking_pod(scheduler, case, whole, tree_pods))


class _ProgressStopwatch(Stopwatch):
    """Calls ``step`` before a pod is tried, so that it can end the search."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step, self._tried = step, 0

    def with_same_clock(self) -> Stopwatch:
        return self

    def start(self) -> None:
        self._step("Trying pods", self._tried, 0)
        self._tried += 1


def _explain_blocking_pod(scheduler: Scheduler, case: GroupCase, whole: GroupPlacement, pods: tuple[Pod, ...]) -> str:
    """Return why the first pod without a node has none, in the cluster with the pods before it on their nodes.

    ``whole`` is the result of the tree that the group is part of, with its ``pods``: that of the group, if it is alone.
    """
    placement, domain_try = case.placement, case.first_try
    pod = next((member for member in pods if placement is not None and member.key == placement.blocking), None)
    if placement is None or domain_try is None or pod is None:
        return ""
    trial_scheduler = scheduler.with_snapshot(scheduler.snapshot.copy())
    trial_scheduler.nominator = scheduler.nominator.copy()
    # The pods of a group are tried together, so their nominations keep no room from each other.
    for other in pods:
        trial_scheduler.nominator.delete_nominated_pod(other.key)
    trial_scheduler.reserve_group(pods, whole.assignments_before(pods, pod.key))
    try:
        explanation = _restrict_to_nodes(trial_scheduler.explain(pod), domain_try.domain.nodes)
    except CycleError as error:
        return f"the scheduling cycle of {pod.name} fails: {error}"
    # It fits by the filters: what refused it there runs only after them.
    if explanation.feasible.size:
        return ""
    # PreEnqueue is about the whole group; the sentence is about this pod on the nodes.
    tried_all_the_same = replace(explanation, pre_enqueue=SUCCESS)
    return Decision(Case(trial_scheduler.snapshot, pod, trial_scheduler, tried_all_the_same, "")).build_headline().title


def _restrict_to_nodes(explanation: Explanation, nodes: NDArray[np.intp]) -> Explanation:
    """Return the explanation of only the nodes at these positions, for a pod that fits on none of them.

    If it fits on some, these are its ``feasible`` nodes, without scores.
    """
    rejected_by = explanation.rejected_by[nodes] if explanation.rejected_by.size else explanation.rejected_by
    return replace(
        explanation,
        nodes=[explanation.nodes[node] for node in nodes],
        filters=[replace(column, codes=column.codes[nodes]) for column in explanation.filters],
        rejected_by=rejected_by,
        feasible=np.flatnonzero(rejected_by == FEASIBLE),
        scores=[],
        total=np.zeros(0, dtype=np.int64),
        best=[],
        chosen=None,
    )
