"""A live decision in one sentence and by its best nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.engine.framework.groups import UNPLACED
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.models import Result

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveDecision

TONES = {
    Result.BOUND: "blue",
    Result.ON_HOLD: "amber",
    Result.WAITING: "amber",
    Result.UNSCHEDULABLE: "red",
    Result.ERROR: "red",
    Result.DENIED: "red",
    Result.EXPIRED: "red",
    Result.SUPERSEDED: "grey",
    Result.FAILED: "red",
}
# The words between the pod's name and the node's, by result.
ENDS = {
    Result.ON_HOLD: "waits for approval on",
    Result.WAITING: "waits at Permit on",
    Result.BOUND: "went to",
    Result.DENIED: "was denied on",
    Result.EXPIRED: "was not approved in time on",
    Result.SUPERSEDED: "was decided on anew, after",
    Result.FAILED: "could not be bound to",
}


@dataclass(frozen=True)
class Ranked:
    """One of the best nodes."""

    node: str
    total: int
    # Points below the best total.
    behind: int
    chosen: bool
    # The weighted score of each plugin, in the order of the table; None if it did not score.
    scores: tuple[int | None, ...]


def describe_decision(decision: LiveDecision, ceiling: int = 0) -> str:
    """Return the outcome in a sentence. ``ceiling`` is the highest total that the weights allow, 0 if unknown."""
    name = decision.name
    if not decision.node or decision.result in (Result.UNSCHEDULABLE, Result.ERROR):
        if decision.nominated:
            return f"{name} waits for pods to leave {decision.nominated}"
        reason, _, _ = decision.message.partition(". ")
        # The group rejected the pod, and no plugin answers for that.
        if decision.result == Result.UNSCHEDULABLE and not decision.rejected_by:
            return f"{name} waits for its group, which finds no place: {reason.removeprefix(f'{UNPLACED}, ')}"
        verb = "could not be tried" if decision.result == Result.ERROR else "fits on no node"
        return f"{name} {verb}: {reason.rstrip('.') or 'no reason was given'}"
    sentence = f"{name} {ENDS[Result(decision.result)]} {decision.node}"
    return f"{sentence}{_describe_total(decision, ceiling)}"


def _describe_total(decision: LiveDecision, ceiling: int) -> str:
    top = decision.top
    if decision.feasible == 1:
        return f", the only one of {decision.evaluated:,} nodes that can run it"
    if not top:
        return ""
    total = f"{top[0]['total']} of {ceiling}" if ceiling else f"total {top[0]['total']}"
    if len(top) < 2 or decision.margin is None:
        return f": {total}"
    if decision.drawn:
        return f": {total}, drawn among {decision.drawn:,} nodes with the same total"
    if decision.margin == 0:
        return f": {total}, shared with {top[1]['node']}"
    plugin = _decided_by(top)
    return f": {total}, {decision.margin} ahead of {top[1]['node']}{f'; {plugin} decided' if plugin else ''}"


def _decided_by(top: list[Json]) -> str:
    """Return the plugin that gave the chosen node most of its lead."""
    first, second = top[0]["scores"], top[1]["scores"]
    leads = {plugin: score - second.get(plugin, 0) for plugin, score in first.items()}
    return max(leads, key=lambda plugin: leads[plugin], default="")


def rank_nodes(decision: LiveDecision) -> tuple[list[str], list[Ranked]]:
    """Return the plugins and the best nodes, which are stored with every decision."""
    plugins = list(dict.fromkeys(plugin for entry in decision.top for plugin in entry["scores"]))
    best = max((entry["total"] for entry in decision.top), default=0)
    rows = [
        Ranked(
            entry["node"],
            entry["total"],
            best - entry["total"],
            entry["node"] == decision.node,
            tuple(entry["scores"].get(plugin) for plugin in plugins),
        )
        for entry in decision.top
    ]
    return plugins, rows
