"""What was tried and what came of it, in sentences: plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.policies.diff import ORDER, PolicyChange
from kschedweb.policies.validation import release_of_record

if TYPE_CHECKING:
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.dialect import Dialect
    from kschedweb.policies.models import Revision

DOOR = "Try a policy change"
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
    anew, nodes = answer["anew"], answer["nodes"]
    said = [_placed(answer["pending"], "pending pods")] if answer["pending"] else []
    if not answer["pending"]:
        said.append(_placed(anew, "pods"))
    if anew["moved"]:
        where = "placed anew, " if answer["pending"] else ""
        said.append(f"{where}{anew['moved']:,} of {_counted(anew['pods'], 'pod')} would land on another node")
    else:
        said.append("no pod would land on another node")
    if nodes["current"] != nodes["changed"]:
        said.append(f"{_counted(nodes['changed'], 'node')} would be in use instead of {nodes['current']:,}")
    return "; ".join(said)


def _placed(counts: dict[str, Any], noun: str) -> str:
    if not counts["pods"]:
        return f"There are no {noun}"
    now, then = counts["placed"]["current"], counts["placed"]["changed"]
    if now == then and not counts["gained"]:
        return f"{then:,} of {counts['pods']:,} {noun} would get a node, as under the current policy"
    return f"{then:,} of {counts['pods']:,} {noun} would get a node instead of {now:,}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def why(change: dict[str, Any]) -> str:
    """Why a pod ends elsewhere, in a sentence."""
    plugin, lead = change["plugin"], change["lead"]
    if change["follows"]:
        return "It follows pods that moved before it."
    if not plugin:
        return str(change["said"]) or "No plugin can be named."
    if lead is not None:
        return f"{plugin} prefers the new node by {_counted(lead, 'point')}."
    node = change["current"] or change["changed"]
    return f"{plugin} rejects {node}: {change['said']}"
