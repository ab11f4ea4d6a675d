"""Sentences on a tried change and its answer, as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.policies.diff import ORDER, PolicyChange
from kschedweb.policies.validation import release_of_record
from kschedweb.web.counting import format_count
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.dialect import Dialect
    from kschedweb.policies.models import Revision

# Title of the page, and of the buttons that lead to it.
DOOR = _("Try a policy change")
SCHEDULER = "kube-scheduler"
# Changes that a title names.
MOST_NAMED = 3


def policy_label(revision: Revision) -> str:
    """Return a label such as "packing@3"."""
    return f"{revision.policy.name}@{revision.number}"


def describe_changes(changes: list[PolicyChange]) -> str:
    """Describe the changes in short, without the order of plugins, which a written weight changes, too."""
    listed = [change for change in changes if change.subject != ORDER] or changes
    parts = [str(change) for change in listed[:MOST_NAMED]]
    if len(listed) > MOST_NAMED:
        parts.append(f"{len(listed) - MOST_NAMED} more")
    return ("; ".join(parts) or "only the text differs")[:500]


def list_changes(dialect: Dialect[Any, Any], tried_change: TriedChange) -> list[PolicyChange]:
    """Return what differs between the changed policy and the current one."""
    before = dialect.check(tried_change.base_document, tried_change.base_started)
    policy_changes = dialect.changes(before, dialect.check(tried_change.document, tried_change.started))
    titles = (release_of_record(process).title for process in (tried_change.base_started, tried_change.started))
    releases = [title.removeprefix(f"{SCHEDULER} ") for title in titles]
    release_changes = [PolicyChange("", SCHEDULER, *releases)] if releases[0] != releases[1] else []
    return [*release_changes, *policy_changes]


def answer_sentence(answer: Json) -> str:
    """Return the answer: what becomes of pending pods, how many pods move, and how many nodes are in use."""
    anew, nodes, pending = answer["anew"], answer["nodes"], answer["pending"]
    parts = [_pending_sentence(pending) if pending else _placed_sentence(anew)]
    numbers = {"moved": f"{anew['moved']:,}", "pods": format_count(anew["pods"], "pods")}
    if not anew["moved"]:
        parts.append(gettext("no pod would land on another node"))
    elif pending:
        parts.append(gettext("scheduled again, %(moved)s of %(pods)s would land on another node") % numbers)
    else:
        parts.append(gettext("%(moved)s of %(pods)s would land on another node") % numbers)
    if nodes["current"] != nodes["changed"]:
        both = {"nodes": format_count(nodes["changed"], "nodes"), "current": f"{nodes['current']:,}"}
        parts.append(gettext("%(nodes)s would be in use instead of %(current)s") % both)
    return gettext("; ").join(parts)


def answer_title(answer: Json) -> str:
    """Return the answer in at most twelve words: pending pods where they differ, moves, and nodes in use."""
    anew, nodes, pending = answer["anew"], answer["nodes"], answer["pending"]
    parts = []
    if pending and (gain := pending["placed"]["changed"] - pending["placed"]["current"]):
        text = gettext("%(pods)s fit") if gain > 0 else gettext("%(pods)s fit no more")
        parts.append(text % {"pods": format_count(abs(gain), "more pods") if gain > 0 else format_count(-gain, "pods")})
    if anew["moved"]:
        parts.append(
            gettext("%(moved)s of %(pods)s move")
            % {"moved": f"{anew['moved']:,}", "pods": format_count(anew["pods"], "pods")}
        )
    if nodes["current"] != nodes["changed"]:
        both = {"nodes": format_count(nodes["changed"], "nodes"), "current": f"{nodes['current']:,}"}
        parts.append(gettext("%(nodes)s in use instead of %(current)s") % both)
    return gettext("; ").join(parts) or gettext("Nothing changes: every pod keeps its node")


def _pending_sentence(counts: Json) -> str:
    if not counts["pods"]:
        return gettext("There are no pending pods")
    if _is_same(counts):
        message = gettext("%(then)s of %(pods)s pending pods would get a node, as under the current policy")
    else:
        message = gettext("%(then)s of %(pods)s pending pods would get a node instead of %(now)s")
    return message % _format_numbers(counts)


def _placed_sentence(counts: Json) -> str:
    if not counts["pods"]:
        return gettext("There are no pods")
    if _is_same(counts):
        message = gettext("%(then)s of %(pods)s pods would get a node, as under the current policy")
    else:
        message = gettext("%(then)s of %(pods)s pods would get a node instead of %(now)s")
    return message % _format_numbers(counts)


def _is_same(counts: Json) -> bool:
    return counts["placed"]["current"] == counts["placed"]["changed"] and not counts["gained"]


def _format_numbers(counts: Json) -> dict[str, str]:
    placed = counts["placed"]
    return {"then": f"{placed['changed']:,}", "pods": f"{counts['pods']:,}", "now": f"{placed['current']:,}"}


def explain_move(change: Json) -> str:
    """Return in a sentence why a pod ends elsewhere."""
    plugin, lead = change["plugin"], change["lead"]
    if change["follows"]:
        return gettext("Its old place went to a pod that moved earlier.")
    if not plugin:
        return str(change["said"]) or gettext("No single plugin decided.")
    if lead is not None:
        points = format_count(lead, "points")
        return gettext("%(plugin)s prefers the new node by %(points)s.") % {"plugin": plugin, "points": points}
    node = change["current"] or change["changed"]
    args = {"plugin": plugin, "node": node, "said": change["said"]}
    return gettext("%(plugin)s rejects %(node)s: %(said)s") % args
