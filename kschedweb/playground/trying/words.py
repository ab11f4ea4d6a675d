"""What was tried and what came of it, in sentences: plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.policies.diff import ORDER, PolicyChange
from kschedweb.policies.validation import release_of_record
from kschedweb.web.counting import counted
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.dialect import Dialect
    from kschedweb.policies.models import Revision

DOOR = _("Try a policy change")
SCHEDULER = "kube-scheduler"
MOST_NAMED = 3  # changes in a title


def label(revision: Revision) -> str:
    """Such as "packing@3"."""
    return f"{revision.policy.name}@{revision.number}"


def change(changes: list[PolicyChange]) -> str:
    """The changes in short, without the order of plugins, which a weight that is written changes too."""
    told = [one for one in changes if one.what != ORDER] or changes
    said = [str(one) for one in told[:MOST_NAMED]]
    if len(told) > MOST_NAMED:
        said.append(f"{len(told) - MOST_NAMED} more")
    return ("; ".join(said) or "only the text differs")[:500]


def changes(dialect: Dialect[Any, Any], tried: TriedChange) -> list[PolicyChange]:
    """What the changed policy does otherwise than the current one."""
    before = dialect.check(tried.base_document, tried.base_started)
    found = dialect.changes(before, dialect.check(tried.document, tried.started))
    titles = (release_of_record(one).title for one in (tried.base_started, tried.started))
    releases = [one.removeprefix(f"{SCHEDULER} ") for one in titles]
    told = [PolicyChange("", SCHEDULER, *releases)] if releases[0] != releases[1] else []
    return [*told, *found]


def sentence(answer: dict[str, Any]) -> str:
    """The answer: what becomes of pending pods, how many pods move, and on how many nodes they are."""
    anew, nodes, pending = answer["anew"], answer["nodes"], answer["pending"]
    said = [_pending(pending) if pending else _placed(anew)]
    numbers = {"moved": f"{anew['moved']:,}", "pods": counted(anew["pods"], "pods")}
    if not anew["moved"]:
        said.append(gettext("no pod would land on another node"))
    elif pending:
        said.append(gettext("placed anew, %(moved)s of %(pods)s would land on another node") % numbers)
    else:
        said.append(gettext("%(moved)s of %(pods)s would land on another node") % numbers)
    if nodes["current"] != nodes["changed"]:
        both = {"nodes": counted(nodes["changed"], "nodes"), "current": f"{nodes['current']:,}"}
        said.append(gettext("%(nodes)s would be in use instead of %(current)s") % both)
    return gettext("; ").join(said)


def _pending(counts: dict[str, Any]) -> str:
    if not counts["pods"]:
        return gettext("There are no pending pods")
    if _same(counts):
        said = gettext("%(then)s of %(pods)s pending pods would get a node, as under the current policy")
    else:
        said = gettext("%(then)s of %(pods)s pending pods would get a node instead of %(now)s")
    return said % _numbers(counts)


def _placed(counts: dict[str, Any]) -> str:
    if not counts["pods"]:
        return gettext("There are no pods")
    if _same(counts):
        said = gettext("%(then)s of %(pods)s pods would get a node, as under the current policy")
    else:
        said = gettext("%(then)s of %(pods)s pods would get a node instead of %(now)s")
    return said % _numbers(counts)


def _same(counts: dict[str, Any]) -> bool:
    return counts["placed"]["current"] == counts["placed"]["changed"] and not counts["gained"]


def _numbers(counts: dict[str, Any]) -> dict[str, str]:
    placed = counts["placed"]
    return {"then": f"{placed['changed']:,}", "pods": f"{counts['pods']:,}", "now": f"{placed['current']:,}"}


def why(change: dict[str, Any]) -> str:
    """Why a pod ends elsewhere, in a sentence."""
    plugin, lead = change["plugin"], change["lead"]
    if change["follows"]:
        return gettext("It follows pods that moved before it.")
    if not plugin:
        return str(change["said"]) or gettext("No single plugin decided.")
    if lead is not None:
        points = counted(lead, "points")
        return gettext("%(plugin)s prefers the new node by %(points)s.") % {"plugin": plugin, "points": points}
    node = change["current"] or change["changed"]
    told = {"plugin": plugin, "node": node, "said": change["said"]}
    return gettext("%(plugin)s rejects %(node)s: %(said)s") % told
