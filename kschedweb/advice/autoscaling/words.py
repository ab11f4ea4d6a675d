"""Answers about autoscaling in one sentence, and the rows of their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.policies.models import Revision

GROUPS_LABEL = "node groups of cluster-autoscaler"
READY_LABEL = "ready NodePool and instance types"
GOES, COULD_GO, STAYS = "goes", "could go", "stays"
VERDICTS = (GOES, COULD_GO, STAYS)
VERDICT_CHOICES = ((GOES, _("goes")), (COULD_GO, _("could go")), (STAYS, _("stays")))
# Karpenter's own words for a node without a NodePool.
UNOWNED = "Node isn't managed by karpenter"
# Characters of a reason by which nodes are grouped.
MOST_TOLD = 160


def label_policy(revision: Revision | None) -> str:
    """Return a label such as "nodepools, revision 3"."""
    return READY_LABEL if revision is None else f"{revision.policy.name}, revision {revision.number}"


def render_sentence(answer: Json) -> str:
    """Return what Karpenter would do, in one sentence."""
    new, command, helpless = answer["newNodes"], answer["command"], answer["podErrors"]
    parameters = {
        "new": format_count(len(new), "nodes"),
        "pods": format_count(sum(len(launch["pods"]) for launch in new), "pods"),
        "gone": format_count(len(command["candidates"]), "nodes") if command else "",
        "money": describe_cost_change(answer),
    }
    if new or command:
        return _sentence_template(bool(new), command) % parameters
    if helpless:
        return gettext("Karpenter has no node for %(pods)s, and removes none") % {
            "pods": format_count(len(helpless), "pods")
        }  # fmt: skip
    return gettext("Karpenter would leave the cluster as it is")


def _sentence_template(new: bool, command: Json | None) -> str:
    cheaper = bool(command and command.get("replacements"))
    match new, bool(command), cheaper:
        case True, True, True:
            return gettext(
                "Karpenter would launch %(new)s for %(pods)s, remove %(gone)s and launch a cheaper one instead: "
                "%(money)s"
            )
        case True, True, _:
            return gettext("Karpenter would launch %(new)s for %(pods)s and remove %(gone)s: %(money)s")
        case True, _, _:
            return gettext("Karpenter would launch %(new)s for %(pods)s: %(money)s")
        case _, _, True:
            return gettext("Karpenter would replace %(gone)s with a cheaper one: %(money)s")
    return gettext("Karpenter would remove %(gone)s: %(money)s")


def describe_cost_change(answer: Json) -> str:
    """Return the change of the hourly cost of priced nodes, else of the number of nodes, in words."""
    before, after = answer["before"], answer["after"]
    if before["unpriced"] == before["nodes"]:
        return gettext("%(after)s nodes instead of %(before)s") % {
            "after": f"{after['nodes']:,}", "before": f"{before['nodes']:,}",
        }  # fmt: skip
    return gettext("%(after)s an hour instead of %(before)s") % {
        "after": format_amount(after["price"]), "before": format_amount(before["price"]),
    }  # fmt: skip


def format_amount(price: float) -> str:
    """Return an amount in the currency of the instance types, which is never named."""
    return f"{price:,.2f}" if price >= 1 else f"{price:,.4f}".rstrip("0").rstrip(".")


def count_reasons(nodes: Sequence[Json]) -> list[tuple[str, str, int]]:
    """Return the verdicts with reasons and numbers of nodes: nodes that go first, then the most frequent ones."""
    counts: dict[tuple[str, str], int] = {}
    for node in nodes:
        key = node["verdict"], shorten_reason(node)
        counts[key] = counts.get(key, 0) + 1
    order = sorted(counts.items(), key=lambda item: (VERDICTS.index(item[0][0]), -item[1], item[0][1]))
    return [(verdict, why, count) for (verdict, why), count in order]


def shorten_reason(node: Json) -> str:
    """Return the reason without the part that is particular to one node: the pods that it names."""
    why = str(node["why"])
    head, arrow, _ = why.partition(" => ")
    if arrow:
        head, comma, _ = head.partition(", ")
        return f"{head}, …" if comma else head
    return why.partition(" (Pod=")[0][:MOST_TOLD]


def get_node_savings(node: Json) -> float | None:
    """Return what removing only this node saves per hour, None if it cannot go."""
    if node["verdict"] == STAYS:
        return None
    alone = node.get("alone")
    saved = node["price"] if alone is None else alone.get("savings")
    return None if saved is None else float(saved)
