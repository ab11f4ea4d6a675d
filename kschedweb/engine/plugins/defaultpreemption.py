"""DefaultPreemption makes room for a pod that fits nowhere by evicting pods of lower priority."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginSpec
from kschedweb.engine.config.types import INT32, Field
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.groups import GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, Status, error, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.eligibility import NEVER, being_preempted, never_preempts
from kschedweb.engine.preemption.groups import make_room
from kschedweb.engine.preemption.search import Candidate, Preemption, Search
from kschedweb.engine.preemption.victims import priority_of
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.fields import Problem, child, invalid

TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_CANDIDATE = "no candidate node for preemption"


class DefaultPreemption:
    name = "DefaultPreemption"

    def __init__(self, args: dict[str, Any], tells: bool = True, by_clock: bool = False, groups: bool = False) -> None:
        """``tells``: where it makes room, its status says so; ``by_clock``: see ``by_importance``.

        ``groups``: pods may belong to groups, which count as such.
        """
        self.tells, self.by_clock, self.groups = tells, by_clock, groups
        percentage, absolute = args.get("minCandidateNodesPercentage"), args.get("minCandidateNodesAbsolute")
        self.percentage = 10 if percentage is None else int(percentage)
        self.absolute = 100 if absolute is None else int(absolute)

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        refusal = self.refusal(cycle, diagnosis)
        if refusal:
            result = PostFilterResult(unschedulable(refusal))
        else:
            search = Search(handle, cycle, diagnosis, self.by_clock, self.groups)
            result = self._preempt(search, diagnosis.nodes(Code.UNSCHEDULABLE), handle)
        said = tuple(f"preemption: {reason}" for reason in (result.status.message,) if reason)
        return replace(result, status=replace(result.status, reasons=said))

    def pod_group_post_filter(self, cycle: GroupCycle, handle: GroupHandle) -> GroupRoom:
        """Look for pods and groups of lower priority, anywhere, without which the whole group finds a place."""
        room = make_room(cycle, handle)
        said = tuple(f"pod group preemption: {reason}" for reason in (room.status.message,) if reason)
        return replace(room, status=replace(room.status, reasons=said))

    def _preempt(self, search: Search, nodes: NDArray[np.intp], handle: Handle) -> PostFilterResult:
        candidates = search.candidates(nodes, len(nodes) if handle.thorough else self.wanted(len(nodes)))
        if not candidates.size:
            failure = search.error()
            return PostFilterResult(error(failure)) if failure else self._hopeless(search)
        if not (handle.explains or search.extenders()):
            best = search.best(candidates)
            return PostFilterResult(self._found(best), best.node, best.victims)
        try:
            left = search.ask_extenders(search.listed(candidates))
        except CycleError as problem:
            return PostFilterResult(error(str(problem)))
        if not left:
            return PostFilterResult(unschedulable(NO_CANDIDATE))
        found = Preemption.of(left)
        return PostFilterResult(self._found(found.chosen), found.chosen.node, found.chosen.victims, found)

    def _found(self, chosen: Candidate) -> Status:
        said = f"found a potential placement for pod on node {chosen.node}, preempting {len(chosen.victims)} victims"
        return Status(reasons=(said,)) if self.tells else SUCCESS

    @staticmethod
    def _hopeless(search: Search) -> PostFilterResult:
        return PostFilterResult(unschedulable(search.message()), nominated="")

    def wanted(self, nodes: int) -> int:
        """The number of candidates to look for among ``nodes`` nodes where evictions could help."""
        return min(max(nodes * self.percentage // 100, self.absolute), nodes)

    def refusal(self, cycle: Cycle, diagnosis: Diagnosis) -> str:
        """The reason why the pod may not preempt others; "" if it may."""
        pod, snapshot = cycle.pod, cycle.snapshot
        if never_preempts(pod):
            return NEVER
        if not pod.nominated_node or diagnosis.at(pod.nominated_node).code is Code.UNRESOLVABLE:
            return ""
        nominated = snapshot.index.get(pod.nominated_node)
        on_node = [] if nominated is None else snapshot.pods.on(nominated)
        if any(self._priority(other, snapshot) < pod.priority and being_preempted(other) for other in on_node):
            return TERMINATING
        return ""

    def _priority(self, pod: Pod, snapshot: Snapshot) -> int:
        return priority_of(pod, snapshot.objects.groups) if self.groups else pod.priority


ARGS = args_struct(
    "DefaultPreemptionArgs",
    "Which nodes preemption tries out.",
    Field(
        "minCandidateNodesPercentage",
        INT32,
        "Least share of the nodes to try, in percent.",
        pointer=True,
        default=10,
        minimum=0,
        maximum=100,
    ),
    Field(
        "minCandidateNodesAbsolute",
        INT32,
        "Least number of nodes to try; not 0 together with the percentage.",
        pointer=True,
        default=100,
        minimum=0,
    ),
)


def set_defaults(args: dict[str, Any]) -> None:
    if args["minCandidateNodesPercentage"] is None:
        args["minCandidateNodesPercentage"] = 10
    if args["minCandidateNodesAbsolute"] is None:
        args["minCandidateNodesAbsolute"] = 100


def problems(args: dict[str, Any], path: str) -> list[Problem]:
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    percentage, absolute = (args[name] for name in names)
    found: list[Problem] = []
    if not 0 <= percentage <= 100:
        found.append(invalid(child(path, names[0]), percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        found.append(invalid(child(path, names[1]), absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        for name, other in (names, names[::-1]):
            found.append(invalid(child(path, name), 0, f"cannot be zero at the same time as {other}"))
    return found


SPEC = PluginSpec(
    "DefaultPreemption",
    frozenset({"preEnqueue", "postFilter", "podGroupPostFilter"}),
    "Looks for pods of lower priority that could make room.",
    ArgsSpec(ARGS, set_defaults, problems),
    factory=DefaultPreemption,
    variant=lambda release: {
        "factory": partial(
            DefaultPreemption,
            tells=release.behaviour.tells_of_preemption,
            by_clock=not release.behaviour.keeps_order_of_unstarted,
            groups=release.groups,
        )
    },
)
