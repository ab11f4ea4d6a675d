"""DefaultPreemption makes room for a pod that fits nowhere by evicting pods of lower priority."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.config.types import INT32, StructField
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.groups import GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, Status, error, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.eligibility import NEVER, being_preempted, never_preempts
from kschedweb.engine.preemption.evaluator import Preemption, PreemptionCandidate, PreemptionEvaluator
from kschedweb.engine.preemption.group_preemption import make_room
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.preemption.victim_ranking import RANKING, VictimRanking
from kschedweb.engine.preemption.victims import priority_of
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.fields import Problem, child_path, invalid

TERMINATING = "not eligible due to a terminating pod on the nominated node."
RULES = PreemptionRules()
CONDEMNED = "DefaultPreemption.condemned"
NO_CANDIDATE = "no candidate node for preemption"


class DefaultPreemption:
    name = "DefaultPreemption"

    def __init__(
        self,
        args: PluginArgs,
        placement_message: bool = True,
        rules: PreemptionRules = RULES,
    ) -> None:
        """Read the arguments; the others depend on the release.

        ``placement_message``: the status names the node where it makes room.
        """
        self.placement_message, self.rules = placement_message, rules
        percentage, absolute = args.get("minCandidateNodesPercentage"), args.get("minCandidateNodesAbsolute")
        # The defaults of `DefaultPreemptionArgs`, for arguments that were not loaded from a document.
        self.percentage = 10 if percentage is None else int(percentage)
        self.absolute = 100 if absolute is None else int(absolute)

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        refusal = self.check_eligibility(cycle, diagnosis)
        if refusal:
            result = PostFilterResult(unschedulable(refusal))
        else:
            search = PreemptionEvaluator(handle, cycle, diagnosis, self.rules)
            result = self._try_preemption(search, diagnosis.nodes_for_status_code(Code.UNSCHEDULABLE), handle)
        # As `PostFilter` does: every message that is not empty gets the prefix.
        reasons = tuple(f"preemption: {reason}" for reason in (result.status.message,) if reason)
        return replace(result, status=replace(result.status, reasons=reasons))

    def concerns(self, pod: Pod) -> bool:
        """Return whether Reserve may condemn victims for the pod."""
        return bool(pod.scheduling_group)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        """Condemn what is left on the node, while room is looked for the pod's group."""
        ranking: VictimRanking | None = cycle.state.get(RANKING)
        if ranking is not None:
            cycle.state[CONDEMNED] = ranking.condemn(cycle.snapshot.index[node])
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        ranking: VictimRanking | None = cycle.state.get(RANKING)
        if ranking is not None:
            ranking.spare(cycle.state.pop(CONDEMNED, ()))

    def pod_group_post_filter(self, cycle: GroupCycle, handle: GroupHandle) -> GroupRoom:
        """Look for pods and groups of lower priority, anywhere, without which the whole group finds a place."""
        room = make_room(cycle, handle, self.rules)
        reasons = tuple(f"pod group preemption: {reason}" for reason in (room.status.message,) if reason)
        return replace(room, status=replace(room.status, reasons=reasons))

    def _try_preemption(self, search: PreemptionEvaluator, nodes: NDArray[np.intp], handle: Handle) -> PostFilterResult:
        candidates = search.find_candidates(nodes, len(nodes) if handle.thorough else self.num_candidates(len(nodes)))
        if not candidates.size:
            failure = search.error_message()
            return PostFilterResult(error(failure)) if failure else self._no_candidates_result(search)
        # Extenders and explanations need every candidate; a plain decision needs only the best one, which is far
        # cheaper.
        if not (handle.explains or search.preempting_extenders()):
            candidate = search.select_candidate(candidates)
            return PostFilterResult(self._success_status(candidate), candidate.node, candidate.victims)
        try:
            remaining = search.ask_extenders(search.list_candidates(candidates))
        except CycleError as problem:
            return PostFilterResult(error(str(problem)))
        if not remaining:
            return PostFilterResult(unschedulable(NO_CANDIDATE))
        preemption = Preemption.from_candidates(remaining)
        return PostFilterResult(
            self._success_status(preemption.chosen), preemption.chosen.node, preemption.chosen.victims, preemption
        )

    def _success_status(self, chosen: PreemptionCandidate) -> Status:
        reason = f"found a potential placement for pod on node {chosen.node}, preempting {len(chosen.victims)} victims"
        return Status(reasons=(reason,)) if self.placement_message else SUCCESS

    @staticmethod
    # "" clears an earlier nomination, as `NewPostFilterResultWithNominatedNode("")` does.
    def _no_candidates_result(search: PreemptionEvaluator) -> PostFilterResult:
        return PostFilterResult(unschedulable(search.build_message()), nominated="")

    def num_candidates(self, nodes: int) -> int:
        """Return the number of candidates to look for among ``nodes`` nodes where evictions could help."""
        # As `calculateNumCandidates`, with integer division.
        return min(max(nodes * self.percentage // 100, self.absolute), nodes)

    def check_eligibility(self, cycle: Cycle, diagnosis: Diagnosis) -> str:
        """Return the reason why the pod may not preempt others; "" if it may."""
        pod, snapshot = cycle.pod, cycle.snapshot
        if never_preempts(pod):
            return NEVER
        # A node that no eviction can help cannot be the one for which the pod waits, so the pod may try again.
        if not pod.nominated_node or diagnosis.status_at(pod.nominated_node).code is Code.UNRESOLVABLE:
            return ""
        nominated = snapshot.index.get(pod.nominated_node)
        on_node = [] if nominated is None else snapshot.pods.pods_on(nominated)
        if any(self._pod_priority(other, snapshot) < pod.priority and being_preempted(other) for other in on_node):
            return TERMINATING
        return ""

    def _pod_priority(self, pod: Pod, snapshot: Snapshot) -> int:
        return priority_of(pod, snapshot.objects.groups, self.rules) if self.rules.evicts_groups else pod.priority


ARGS = args_struct(
    "DefaultPreemptionArgs",
    "Which nodes preemption tries out.",
    StructField(
        "minCandidateNodesPercentage",
        INT32,
        "Least share of the nodes to try, in percent.",
        pointer=True,
        default=10,
        minimum=0,
        maximum=100,
    ),
    StructField(
        "minCandidateNodesAbsolute",
        INT32,
        "Least number of nodes to try; not 0 together with the percentage.",
        pointer=True,
        default=100,
        minimum=0,
    ),
)


def set_defaults(args: PluginArgs) -> None:
    if args["minCandidateNodesPercentage"] is None:
        args["minCandidateNodesPercentage"] = 10
    if args["minCandidateNodesAbsolute"] is None:
        args["minCandidateNodesAbsolute"] = 100


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    percentage, absolute = (args[name] for name in names)
    problems: list[Problem] = []
    if not 0 <= percentage <= 100:
        problems.append(invalid(child_path(path, names[0]), percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        problems.append(invalid(child_path(path, names[1]), absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        for name, other in (names, names[::-1]):
            problems.append(invalid(child_path(path, name), 0, f"cannot be zero at the same time as {other}"))
    return problems


POINTS = frozenset({"preEnqueue", "postFilter", "podGroupPostFilter"})


def _variant(release: Any) -> PluginVariant:
    variant = PluginVariant(
        factory=partial(
            DefaultPreemption,
            placement_message=release.behaviour.preemption_placement_message,
            rules=PreemptionRules(
                evicts_groups=release.has_group_scheduling,
                unstarted_by_clock=not release.behaviour.unstarted_victims_stable_order,
                ties_by_uid=release.behaviour.victim_ties_by_uid,
                empty_budget_selector=release.behaviour.budget_empty_selector,
                offers_nodes_without_victims=release.behaviour.extender_victimless_nodes,
                workload_preemption=release.behaviour.workload_preemption,
                evicts_composites=release.has_composite_groups,
            ),
        )
    )
    if release.behaviour.workload_preemption:
        variant |= PluginVariant(points=POINTS | {"reserve"}, gated_points={"reserve": "GenericWorkload"})
    return variant


SPEC = PluginSpec(
    "DefaultPreemption",
    POINTS,
    "Looks for pods of lower priority that could make room.",
    ArgsSpec(ARGS, set_defaults, validate_args),
    factory=DefaultPreemption,
    variant=_variant,
)
