"""What would become of a group of pods in a snapshot under a policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.case import Case
from kschedweb.decisions.decider import ProfileMissing
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.kinds import PROFILES
from kschedweb.engine import Scheduler
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.framework.status import SUCCESS, CycleError
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kschedweb.decisions.groups.rules import GroupRules
    from kschedweb.decisions.groups.standing import Standing
    from kschedweb.engine import Explanation
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.cycle.groupplacement import DomainTry, GroupPlacement
    from kschedweb.jobs.inquiries import Step


@dataclass(frozen=True)
class GroupCase:
    """A group, and what one cycle of it would come to: ``found`` is ``None`` where it is not scheduled as a group.

    ``blocked`` says in plain words why the first pod without a node has none, "" where there is no such pod.
    ``handled_by`` is the scheduler of its pods where nobody here knows it, else "".
    """

    standing: Standing
    rules: GroupRules
    found: GroupPlacement | None = None
    blocked: str = ""
    handled_by: str = ""

    @property
    def freed(self) -> list[str]:
        """The claims ("namespace/name") whose devices kube-scheduler would have given back, so that the group fits."""
        room = None if self.found is None else self.found.room
        claims = [] if room is None else [one for listed in room.frees.values() for one in listed]
        return sorted({f"{one.namespace}/{one.claim}" for one in claims})

    @property
    def first_try(self) -> DomainTry | None:
        """The domain that the answer is about: the one taken, or else the first."""
        found = self.found
        if found is None or not found.tries:
            return None
        return next((one for one in found.tries if found.placed and one.domain.name == found.domain), found.tries[0])


def group_case(
    engine: EngineSnapshot, standing: Standing, rules: GroupRules, step: Step, is_live: Callable[[str], bool]
) -> GroupCase:
    """Try the group on a copy of ``engine``; ``step`` is told of each pod that is tried.

    ``is_live`` is as for ``Decider.case``. Raises Unprocessable where the cycle of the group fails.
    """
    scheduler = Scheduler(engine, rules.configuration)
    try:
        pods = tuple(PROFILES.as_profile(scheduler, pod, is_live) for pod in standing.pending)
    except ProfileMissing as error:
        return GroupCase(standing, rules, handled_by=error.scheduler_name)
    group, standing = standing.group, replace(standing, pending=pods)
    if group is None or not pods or not rules.configuration.release.groups:
        return GroupCase(standing, rules)
    try:
        found = scheduler.explain_group(group, pods, SearchRequest(post_filter=True, watch=_Told(step)))
    except CycleError as error:
        raise Unprocessable(f"The scheduling cycle of {standing.key} fails: {error}") from None
    case = GroupCase(standing, rules, found)
    return replace(case, blocked=_blocked(scheduler, case))


class _Told(Stopwatch):
    """Tells ``step`` before a pod is tried, so that it can end the search."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step, self._tried = step, 0

    def another(self) -> Stopwatch:
        return self

    def start(self) -> None:
        self._step("Trying pods", self._tried, 0)
        self._tried += 1


def _blocked(scheduler: Scheduler, case: GroupCase) -> str:
    """Why the first pod without a node has none, told of the cluster with the pods before it on their nodes."""
    found, tried, pods = case.found, case.first_try, case.standing.pending
    pod = next((one for one in pods if found is not None and one.key == found.blocking), None)
    if found is None or tried is None or pod is None:
        return ""
    there = scheduler.over(scheduler.snapshot.copy())
    there.nominator = scheduler.nominator.copy()
    for other in pods:  # of a group that is tried none keeps room from the others by a nomination
        there.nominator.remove(other.key)
    there.reserve_group(pods, found.before(pods, pod.key))
    try:
        explanation = _within(there.explain(pod), tried.domain.nodes)
    except CycleError as error:
        return f"the scheduling cycle of {pod.name} fails: {error}"
    if explanation.feasible.size:  # what refused the pod there is asked only after the filters
        return ""
    # What keeps the group out of the queue is told of the group.
    tried_all_the_same = replace(explanation, pre_enqueue=SUCCESS)
    return Decision(Case(there.snapshot, pod, there, tried_all_the_same, "")).answer().title


def _within(explanation: Explanation, nodes: NDArray[np.intp]) -> Explanation:
    """The explanation of the nodes at these positions alone, for a pod that fits on none of them.

    Where it fits on some, these are its ``feasible`` nodes, and nothing is said of scores.
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
