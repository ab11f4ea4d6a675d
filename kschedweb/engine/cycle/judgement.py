"""Judgements of another scheduler's placements by a policy."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

import numpy as np

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import FEASIBLE, Explanation
from kschedweb.engine.framework.status import SUCCESS, CycleError, Status, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.values import dataclass


class Agreement(StrEnum):
    """The result of comparing another scheduler's answer with the policy's."""

    # Its node is among the best, or neither finds a node.
    AGREE = "agree"
    # Its node passes, but others score higher.
    DIFFER = "differ"
    # Its node does not pass.
    INFEASIBLE = "infeasible"
    # It found no node, but some pass.
    WOULD_PLACE = "would place"
    # The policy's own cycle fails.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A policy's judgement of another scheduler's placement."""

    verdict: Agreement
    # The other scheduler's node, "" if it found none.
    node: str
    # All nodes with the highest total.
    best: tuple[str, ...] = ()
    # The number of feasible nodes.
    feasible: int = 0
    # One more than the number of nodes with a higher total than `node`; None if `node` has no total.
    rank: int | None = None
    # The highest total less that of `node`; None if `node` has no total.
    difference: int | None = None
    # The plugin that explains most of the difference, or the filter that rejects `node`.
    plugin: str = ""
    # The difference by plugin: weighted, against the first of `best`, negative if the plugin prefers `node`.
    differences: dict[str, int] = field(default_factory=dict)
    # The policy's text, if there is one: why `node` or no node passes, or how the cycle failed.
    message: str = ""

    @property
    def agrees(self) -> bool:
        return self.verdict is Agreement.AGREE


def judge_placement(scheduler: Scheduler, pod: Pod, node: str) -> Judgement:
    """Judge ``pod`` on ``node`` ("": unschedulable) by ``scheduler``, whose snapshot is from just before.

    A pod whose scheduler name no profile has is judged by the first profile.
    """
    if pod.scheduler_name not in scheduler.frameworks:
        pod = pod.under_scheduler(next(iter(scheduler.frameworks)))
    try:
        explanation = scheduler.explain(pod.on("") if pod.node_name else pod, as_scheduled=True)
    except CycleError as error:
        return Judgement(Agreement.FAILED, node, message=str(error))
    if explanation.chosen is None:
        return _judge_unschedulable(explanation, node)
    best = tuple(explanation.nodes[position] for position in explanation.best)
    feasible = len(explanation.feasible)
    if not node:
        return Judgement(Agreement.WOULD_PLACE, node, best, feasible)
    place = (
        np.flatnonzero(explanation.feasible == explanation.nodes.index(node))
        if node in explanation.nodes
        else np.zeros(0)
    )
    if not place.size:
        status = find_rejection(explanation, node)
        return Judgement(Agreement.INFEASIBLE, node, best, feasible, plugin=status.plugin, message=status.message)
    return _compare_totals(explanation, node, int(place[0]), best)


def _judge_unschedulable(explanation: Explanation, node: str) -> Judgement:
    pre_enqueue_status = explanation.pre_enqueue
    if not node:
        return Judgement(Agreement.AGREE, node, message=explanation.message or pre_enqueue_status.message)
    status = find_rejection(explanation, node)
    return Judgement(Agreement.INFEASIBLE, node, plugin=status.plugin, message=status.message or explanation.message)


def find_rejection(explanation: Explanation, node: str) -> Status:
    """Return the status that keeps the pod off ``node``; success if none does."""
    if node not in explanation.nodes:
        return unresolvable(f'node "{node}" not found')
    position = explanation.nodes.index(node)
    if len(explanation.rejected_by) and explanation.rejected_by[position] == FEASIBLE:
        return SUCCESS
    return explanation.verdict_at(position) or explanation.absent or unresolvable(explanation.message)


def _compare_totals(explanation: Explanation, node: str, place: int, best: tuple[str, ...]) -> Judgement:
    total = explanation.total
    first = int(np.flatnonzero(explanation.feasible == explanation.best[0])[0])
    rank = 1 + int(np.count_nonzero(total > total[place]))
    difference = int(total[first] - total[place])
    if not difference:
        return Judgement(Agreement.AGREE, node, best, len(total), rank, difference)
    parts = compute_leads(explanation, first, place)
    decisive_plugin = max(parts, key=lambda plugin: parts[plugin])
    parts = {plugin: part for plugin, part in parts.items() if part}
    return Judgement(Agreement.DIFFER, node, best, len(total), rank, difference, decisive_plugin, parts)


@dataclass(frozen=True, slots=True)
class JudgementReason:
    """The reason why a pod goes to another node than before."""

    # The plugin that rejects the old node, or prefers the new one; "" if there is none to name.
    plugin: str = ""
    # The points by which `plugin` prefers the new node; None if it rejects the old one.
    lead: int | None = None
    # The plugin's words, or why no plugin can be named.
    message: str = ""


EQUALS = "No plugin prefers the new node: the order of the nodes decides."


def why_moved(before: Explanation, after: Explanation) -> JudgementReason | None:
    """Return why the pod goes to another node in ``after`` than in ``before``, two explanations of one cluster.

    None if it goes to the same node, or if its old node is still among the best.
    """
    if before.node == after.node or before.node in {after.nodes[position] for position in after.best}:
        return None
    lost = find_rejection(after, before.node) if before.node else find_rejection(before, after.node)
    if not lost.ok:
        return JudgementReason(lost.plugin, None, lost.message)
    places = {name: np.flatnonzero(after.feasible == after.nodes.index(name)) for name in (after.node, before.node)}
    parts = compute_leads(after, int(places[after.node][0]), int(places[before.node][0]))
    decisive_plugin = max(parts, key=lambda plugin: parts[plugin], default="")
    return (
        JudgementReason(decisive_plugin, parts[decisive_plugin])
        if decisive_plugin and parts[decisive_plugin] > 0
        else JudgementReason(message=EQUALS)
    )


def compute_leads(explanation: Explanation, first: int, second: int) -> dict[str, int]:
    """Return, by plugin, how many weighted points it prefers the feasible node at ``first`` to that at ``second``."""
    return {column.plugin: int(column.weighted[first] - column.weighted[second]) for column in explanation.scores}
