"""Answers about capacity in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop, ngettext

from kschedweb.engine.studies.capacity.buffer import LOST_ZONE, LOWEST_PRIORITY, Buffer, Loss
from kschedweb.engine.studies.capacity.capacity import CapacityFit
from kschedweb.engine.studies.capacity.drain import BUDGET, LOCAL, NO_ROOM, UNMANAGED, Rehearsal
from kschedweb.engine.studies.capacity.gangs import GangFit
from kschedweb.engine.studies.capacity.sizing import Sizing
from kschedweb.engine.studies.trying.node_change import NodeChangeEffect
from kschedweb.engine.studies.trying.policy_effect import GAINED, LOST, MOVED
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from kschedweb.playground.capacity.answers import CapacityAnswer
    from kschedweb.policies.models import Revision

# Reasons that block a drain, by kind of block.
BLOCKED = {
    BUDGET: gettext_noop("a disruption budget"),
    UNMANAGED: gettext_noop("pods without controller"),
    LOCAL: gettext_noop("pods with local storage"),
    NO_ROOM: gettext_noop("pods that fit no other node"),
}

# What becomes of a pod in a drain rehearsal, as rows have it; pages show it in the reader's language.
BECOMES = (
    gettext_noop("evicted"),
    gettext_noop("deleted"),
    gettext_noop("blocked: disruption budget"),
    gettext_noop("blocked: no controller"),
    gettext_noop("blocked: local storage"),
    gettext_noop("blocked: no room elsewhere"),
    gettext_noop("blocked: DaemonSet-managed pod"),
    gettext_noop("left alone: DaemonSet"),
    gettext_noop("left alone: mirror pod"),
    gettext_noop("left alone: terminating"),
)


def revision_label(revision: Revision) -> str:
    """Return a label such as "default, revision 3". It is stored in English; pages translate it with web/messages."""
    return f"{revision.policy.name}, revision {revision.number}"


def answer_sentence(answer: CapacityAnswer) -> str:
    """Return the answer in one sentence, without a full stop."""
    if isinstance(answer, NodeChangeEffect):
        return change_answer(answer)
    if isinstance(answer, CapacityFit):
        return fit_answer(answer)
    if isinstance(answer, GangFit):
        return gangs_answer(answer)
    if isinstance(answer, Buffer):
        return buffer_answer(answer)
    return nodes_answer(answer) if isinstance(answer, Sizing) else drain_answer(answer)


def fit_answer(answer: CapacityFit) -> str:
    """Return how many pods fit, and the main reason against the next one."""
    args = {"number": f"{answer.count:,}", "reason": _main_reason(answer), "why": _inexact_reason(answer)}
    # Claims of each pod were left out, so the number is an upper bound.
    if answer.unlimited:
        return gettext("At most %(number)s more such pods fit: the claims of each are not known") % args
    if not answer.exact:
        message = ngettext(
            "At least %(number)s more such pod fits: %(why)s", "At least %(number)s more such pods fit: %(why)s",
            answer.count,
        )  # fmt: skip
        return message % args
    if not answer.count:
        return gettext("No such pod fits: %(reason)s") % args if answer.reasons else gettext("No such pod fits")
    many = ngettext(
        "%(number)s more such pod fits; then %(reason)s", "%(number)s more such pods fit; then %(reason)s", answer.count
    )
    return many % args


def _inexact_reason(answer: CapacityFit | GangFit) -> str:
    if answer.failed:
        return gettext("the scheduling cycle of the next one fails")
    return gettext("timed out") if answer.stopped else gettext("counting stopped at the limit")


def _main_reason(answer: CapacityFit) -> str:
    """Return the reason that closes most nodes, with their number."""
    if not answer.reasons:
        return gettext("the scheduler says no")
    # Reasons of nodes that took some of the pods say most about the next pod.
    open_before = [reason for reason in answer.reasons if reason.filled]
    reason = (open_before or answer.reasons)[0]
    reason_text = reason.text or reason.plugin or gettext("no reason is given")
    return gettext("%(reason)s on %(nodes)s") % {
        "reason": reason_text,
        "nodes": format_count(len(reason.nodes), "nodes"),
    }


def gangs_answer(answer: GangFit) -> str:
    """Return how many gangs fit, and how far the next one comes."""
    args = {"number": f"{answer.count:,}", "pods": format_count(answer.pods, "pods"), "why": _inexact_reason(answer)}
    if answer.unlimited:
        return gettext("At most %(number)s more gangs of %(pods)s fit: the claims of each pod are not known") % args
    if not answer.exact:
        message = ngettext(
            "At least %(number)s more gang of %(pods)s fits: %(why)s",
            "At least %(number)s more gangs of %(pods)s fit: %(why)s",
            answer.count,
        )
        return message % args
    args["next"] = _of_next(answer)
    if not answer.count:
        none = gettext("No gang of %(pods)s fits: %(next)s") if args["next"] else gettext("No gang of %(pods)s fits")
        return none % args
    if not args["next"]:
        only = ngettext("%(number)s more gang of %(pods)s fits", "%(number)s more gangs of %(pods)s fit", answer.count)
        return only % args
    many = ngettext(
        "%(number)s more gang of %(pods)s fits; then %(next)s",
        "%(number)s more gangs of %(pods)s fit; then %(next)s",
        answer.count,
    )
    return many % args


def _of_next(answer: GangFit) -> str:
    """Return how many pods of the gang that does not fit find a node; with domains, in the one where most do."""
    if not answer.results:
        return ""
    placed = max(result.placed for result in answer.results)
    args = {"number": f"{placed:,}", "gang": gettext("the next one") if answer.count else gettext("it")}
    if not placed:
        return gettext("no pod of %(gang)s finds a node") % args
    if answer.results[0].name:
        some = ngettext(
            "only %(number)s pod of %(gang)s finds a node in one domain",
            "only %(number)s pods of %(gang)s find a node in one domain",
            placed,
        )
    else:
        some = ngettext(
            "only %(number)s pod of %(gang)s finds a node", "only %(number)s pods of %(gang)s find a node", placed
        )
    return some % args


def nodes_answer(answer: Sizing) -> str:
    """Return how many nodes are needed, and for how many pods no number of nodes helps."""
    if not answer.pods:
        return gettext("There is no pod to make room for")
    if answer.needed is None:
        unplaced = format_count(answer.unplaced_by_nodes[answer.max_nodes], "pods")
        return gettext("%(number)s new nodes are not enough: %(pods)s would still not fit") % {
            "number": f"{answer.max_nodes:,}", "pods": unplaced,
        }  # fmt: skip
    if answer.unplaceable_count:
        return _partial_answer(answer, answer.needed)
    args = {"number": f"{answer.needed:,}", "pods": f"{answer.pods:,}"}
    if not answer.needed:
        return ngettext(
            "No new node is needed: the pod fits now", "No new node is needed: all %(pods)s pods fit now", answer.pods
        ) % args  # fmt: skip
    if answer.pods == 1:
        return ngettext(
            "%(number)s new node is needed for the pod", "%(number)s new nodes are needed for the pod", answer.needed
        ) % args  # fmt: skip
    return ngettext(
        "%(number)s new node is needed for all %(pods)s pods",
        "%(number)s new nodes are needed for all %(pods)s pods",
        answer.needed,
    ) % args  # fmt: skip


def _partial_answer(answer: Sizing, needed: int) -> str:
    """Return the sentence for when some pods fit on no number of such nodes."""
    helped = answer.pods - answer.unplaceable_count
    args = {
        "number": f"{needed:,}", "helped": f"{helped:,}", "hopeless": format_count(answer.unplaceable_count, "pods"),
        "pods": f"{answer.pods:,}",
    }  # fmt: skip
    if needed:
        return ngettext(
            "%(number)s new node makes %(helped)s pods fit; no number of such nodes helps %(hopeless)s",
            "%(number)s new nodes make %(helped)s pods fit; no number of such nodes helps %(hopeless)s",
            needed,
        ) % args  # fmt: skip
    if not helped:
        return gettext("More such nodes do not help %(hopeless)s of %(pods)s") % args
    return ngettext(
        "More such nodes do not help %(hopeless)s of %(pods)s; the other pod fits now",
        "More such nodes do not help %(hopeless)s of %(pods)s; the other %(helped)s pods fit now",
        helped,
    ) % args  # fmt: skip


def drain_answer(answer: Rehearsal) -> str:
    """Return whether the nodes can be drained, and what blocks them."""
    total = len(answer.nodes)
    args = {"number": f"{total:,}"}
    if answer.emptied:
        moves = ngettext("%(number)s pod moves", "%(number)s pods move", len(answer.moves))
        args["moves"] = moves % {"number": f"{len(answer.moves):,}"}
        return ngettext(
            "The node can be emptied: %(moves)s", "All %(number)s nodes can be emptied: %(moves)s", total
        ) % args  # fmt: skip
    kinds = dict.fromkeys(BLOCKED.get(block.kind, block.kind) for block in answer.blocks)
    args |= {"kinds": ", ".join(map(gettext, kinds)), "done": f"{sum(node.emptied for node in answer.nodes):,}"}
    return ngettext(
        "The node cannot be emptied: blocked by %(kinds)s",
        "%(done)s of %(number)s nodes can be emptied; the others are blocked by %(kinds)s",
        total,
    ) % args  # fmt: skip


def change_answer(answer: NodeChangeEffect) -> str:
    """Return how many pods move, and how many more or fewer have no node."""
    parts = []
    if stranded := answer.count(LOST):
        parts.append(
            ngettext(
                "%(pods)s loses its node and finds no other", "%(pods)s lose their node and find no other", stranded
            )
            % {"pods": format_count(stranded, "pods")}
        )
    if gained := answer.count(GAINED):
        parts.append(
            ngettext("%(pods)s gets a node", "%(pods)s get a node", gained)
            % {"pods": format_count(gained, "pending pods")}
        )
    if moved := answer.count(MOVED):
        parts.append(ngettext("%(pods)s moves", "%(pods)s move", moved) % {"pods": format_count(moved, "pods")})
    if answer.unreplaced:
        number = len(answer.unreplaced)
        parts.append(
            ngettext("%(pods)s is gone for good", "%(pods)s are gone for good", number)
            % {"pods": format_count(number, "pods")}
        )
    return gettext("; ").join(parts) or gettext("Nothing changes: every pod keeps its node")


def buffer_answer(answer: Buffer) -> str:
    """Return whether the cluster survives, and which loss leaves most pods without a node."""
    if not answer.losses:
        return gettext("No node has a zone, so there is no zone to lose")
    worst = answer.worst_loss
    if answer.survives or worst is None:
        args = {"losses": gettext(" or of ").join(_loss_names(answer)), "priority": f"{answer.priority:,}"}
        if answer.priority == LOWEST_PRIORITY:
            return gettext("The cluster survives the loss of %(losses)s: every pod is placed again") % args
        return gettext(
            "The cluster survives the loss of %(losses)s: every pod of priority %(priority)s and above is placed again"
        ) % args  # fmt: skip
    unplaced = worst.pods - worst.placed
    return ngettext(
        "The cluster does not survive the loss of %(loss)s: %(left)s of %(pods)s pods finds no node",
        "The cluster does not survive the loss of %(loss)s: %(left)s of %(pods)s pods find no node",
        unplaced,
    ) % {"loss": loss_name(worst), "left": f"{unplaced:,}", "pods": f"{worst.pods:,}"}  # fmt: skip


def _loss_names(answer: Buffer) -> list[str]:
    kinds = {loss.kind: loss for loss in answer.losses}
    return [gettext("any one zone") if kind == LOST_ZONE else loss_name(loss) for kind, loss in kinds.items()]


def loss_name(loss: Loss) -> str:
    """Return a name such as "zone a" or "the 3 largest nodes"."""
    if loss.kind == LOST_ZONE:
        return gettext("zone %(name)s") % {"name": loss.name}
    if len(loss.nodes) == 1:
        return gettext("the largest node, %(name)s") % {"name": loss.nodes[0]}
    return gettext("the %(number)s largest nodes") % {"number": f"{len(loss.nodes):,}"}
