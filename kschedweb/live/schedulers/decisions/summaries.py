"""A live decision in one sentence and by its best nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop

from kschedweb.engine.framework.groups import UNPLACED
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.models import Result
from kschedweb.web.counting import format_count

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
OUTCOMES = {
    Result.ON_HOLD: gettext_noop("%(pod)s waits for approval on %(node)s"),
    Result.WAITING: gettext_noop("%(pod)s waits at Permit on %(node)s"),
    Result.BOUND: gettext_noop("%(pod)s went to %(node)s"),
    Result.DENIED: gettext_noop("%(pod)s was denied on %(node)s"),
    Result.EXPIRED: gettext_noop("%(pod)s was not approved in time on %(node)s"),
    Result.SUPERSEDED: gettext_noop("%(pod)s was decided again, after %(node)s"),
    Result.FAILED: gettext_noop("%(pod)s could not be bound to %(node)s"),
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
            return gettext("%(pod)s waits for pods to leave %(node)s") % {"pod": name, "node": decision.nominated}
        reason, _, _ = decision.message.partition(". ")
        # The group rejected the pod, and no plugin answers for that.
        if decision.result == Result.UNSCHEDULABLE and not decision.rejected_by:
            reason = reason.removeprefix(f"{UNPLACED}, ")
            message = gettext("%(pod)s waits for its group, which finds no place: %(reason)s")
        elif decision.result == Result.ERROR:
            message = gettext("%(pod)s could not be tried: %(reason)s")
        else:
            message = gettext("%(pod)s fits on no node: %(reason)s")
        return message % {"pod": name, "reason": reason.rstrip(".") or gettext("no reason was given")}
    sentence = gettext(OUTCOMES[Result(decision.result)]) % {"pod": name, "node": decision.node}
    total = _describe_total(decision, ceiling)
    return gettext("%(of)s: %(note)s") % {"of": sentence, "note": total} if total else sentence


def _describe_total(decision: LiveDecision, ceiling: int) -> str:
    top = decision.top
    if decision.feasible == 1:
        return gettext("the only one of %(nodes)s that can run it") % {
            "nodes": format_count(decision.evaluated, "nodes")
        }
    if not top:
        return ""
    total = gettext("%(total)s of %(ceiling)s") if ceiling else gettext("total %(total)s")
    score = total % {"total": top[0]["total"], "ceiling": ceiling}
    if len(top) < 2 or decision.margin is None:
        return score
    arguments = {"score": score, "node": top[1]["node"], "margin": decision.margin, "plugin": _decided_by(top)}
    if decision.drawn:
        arguments["nodes"] = format_count(decision.drawn, "nodes")
        message = gettext("%(score)s, drawn among %(nodes)s with the same total")
    elif decision.margin == 0:
        message = gettext("%(score)s, shared with %(node)s")
    elif arguments["plugin"]:
        message = gettext("%(score)s, %(margin)s ahead of %(node)s; %(plugin)s decided")
    else:
        message = gettext("%(score)s, %(margin)s ahead of %(node)s")
    return message % arguments


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
