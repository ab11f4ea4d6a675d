"""What a policy thinks of where another scheduler put a pod."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

import numpy as np

from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.framework.explanation import FEASIBLE, Explanation
from kschedweb.engine.framework.status import SUCCESS, CycleError, Status, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass


class Agreement(StrEnum):
    """How the other scheduler's answer compares with the policy's."""

    AGREE = "agree"  # its node is among the best, or neither finds one
    DIFFER = "differ"  # its node passes, others score higher
    INFEASIBLE = "infeasible"  # its node does not pass
    WOULD_PLACE = "would place"  # it found none, and some pass
    FAILED = "failed"  # the policy's own cycle fails


@dataclass(frozen=True, slots=True)
class Judgement:
    """``node`` is the other scheduler's, "" where it found none; ``best`` are all nodes with the highest total.

    ``rank`` is one more than the number of nodes with a higher total than ``node``. ``difference`` is the highest total
    less that of ``node``. Both are ``None`` if ``node`` has no total. ``differences`` splits that difference by plugin:
    weighted, against the first of ``best``, negative if the plugin prefers ``node``. ``plugin`` is the one that
    explains most of it, or the filter that rejects ``node``. ``message`` is the scheduler's text, if there is one: why
    ``node`` does not pass, why no node does, or how the cycle failed.
    """

    verdict: Agreement
    node: str
    best: tuple[str, ...] = ()
    feasible: int = 0
    rank: int | None = None
    difference: int | None = None
    plugin: str = ""
    differences: dict[str, int] = field(default_factory=dict)
    message: str = ""

    @property
    def agrees(self) -> bool:
        return self.verdict is Agreement.AGREE


def judge(scheduler: Scheduler, pod: Pod, node: str) -> Judgement:
    """Judge ``pod`` on ``node`` ("": unschedulable) by ``scheduler``, whose snapshot is as of just before.

    A pod of a scheduler name that no profile has is judged by the first profile.
    """
    if pod.scheduler_name not in scheduler.frameworks:
        pod = pod.under(next(iter(scheduler.frameworks)))
    try:
        found = scheduler.explain(pod.on("") if pod.node_name else pod, as_run=True)
    except CycleError as error:
        return Judgement(Agreement.FAILED, node, message=str(error))
    if found.chosen is None:
        return _nowhere(found, node)
    best = tuple(found.nodes[position] for position in found.best)
    feasible = len(found.feasible)
    if not node:
        return Judgement(Agreement.WOULD_PLACE, node, best, feasible)
    place = np.flatnonzero(found.feasible == found.nodes.index(node)) if node in found.nodes else np.zeros(0)
    if not place.size:
        status = rejection(found, node)
        return Judgement(Agreement.INFEASIBLE, node, best, feasible, plugin=status.plugin, message=status.message)
    return _compared(found, node, int(place[0]), best)


def _nowhere(found: Explanation, node: str) -> Judgement:
    held = found.pre_enqueue
    if not node:
        return Judgement(Agreement.AGREE, node, message=found.message or held.message)
    status = rejection(found, node)
    return Judgement(Agreement.INFEASIBLE, node, plugin=status.plugin, message=status.message or found.message)


def rejection(found: Explanation, node: str) -> Status:
    """What keeps the pod off ``node``; success if nothing does."""
    if node not in found.nodes:
        return unresolvable(f'node "{node}" not found')
    position = found.nodes.index(node)
    if len(found.rejected_by) and found.rejected_by[position] == FEASIBLE:
        return SUCCESS
    return found.verdict_at(position) or found.absent or unresolvable(found.message)


def _compared(found: Explanation, node: str, place: int, best: tuple[str, ...]) -> Judgement:
    total = found.total
    first = int(np.flatnonzero(found.feasible == found.best[0])[0])
    rank = 1 + int(np.count_nonzero(total > total[place]))
    difference = int(total[first] - total[place])
    if not difference:
        return Judgement(Agreement.AGREE, node, best, len(total), rank, difference)
    parts = leads(found, first, place)
    most = max(parts, key=lambda plugin: parts[plugin])
    parts = {plugin: part for plugin, part in parts.items() if part}
    return Judgement(Agreement.DIFFER, node, best, len(total), rank, difference, most, parts)


@dataclass(frozen=True, slots=True)
class JudgementReason:
    """``plugin`` is the one that rejects a node, in the words ``said``, or prefers the other one by ``lead`` points.

    "" where no plugin can be named; ``said`` is then why.
    """

    plugin: str = ""
    lead: int | None = None
    said: str = ""


EQUALS = "No plugin prefers the new node: the order of the nodes decides."


def why_moved(before: Explanation, after: Explanation) -> JudgementReason | None:
    """Why the pod goes to another node in ``after`` than in ``before``, two explanations on one cluster.

    ``None`` where it goes to the same node, or where its node before is still among the best.
    """
    if before.node == after.node or before.node in {after.nodes[position] for position in after.best}:
        return None
    lost = rejection(after, before.node) if before.node else rejection(before, after.node)
    if not lost.ok:
        return JudgementReason(lost.plugin, None, lost.message)
    places = {name: np.flatnonzero(after.feasible == after.nodes.index(name)) for name in (after.node, before.node)}
    parts = leads(after, int(places[after.node][0]), int(places[before.node][0]))
    most = max(parts, key=lambda plugin: parts[plugin], default="")
    return JudgementReason(most, parts[most]) if most and parts[most] > 0 else JudgementReason(said=EQUALS)


def leads(found: Explanation, first: int, second: int) -> dict[str, int]:
    """By how many weighted points each plugin prefers the feasible node at one place to that at another."""
    return {column.plugin: int(column.weighted[first] - column.weighted[second]) for column in found.scores}
