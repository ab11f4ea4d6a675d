"""Answers in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.studies.capacity.buffer import LOST_ZONE, LOWEST, Buffer, Loss
from kschedweb.engine.studies.capacity.capacity import Fit
from kschedweb.engine.studies.capacity.drain import BUDGET, LOCAL, NO_ROOM, UNMANAGED, Rehearsal
from kschedweb.engine.studies.capacity.gangs import GangFit
from kschedweb.engine.studies.capacity.sizing import Sizing
from kschedweb.web.units import counted

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision

BLOCKED = {
    BUDGET: "a disruption budget",
    UNMANAGED: "pods without controller",
    LOCAL: "pods with local storage",
    NO_ROOM: "pods that fit no other node",
}


def label(revision: Revision) -> str:
    """Such as "default, revision 3"."""
    return f"{revision.policy.name}, revision {revision.number}"


def sentence(found: Fit | Sizing | Rehearsal | GangFit | Buffer) -> str:
    """The answer."""
    if isinstance(found, Fit):
        return fit_answer(found)
    if isinstance(found, GangFit):
        return gangs_answer(found)
    if isinstance(found, Buffer):
        return buffer_answer(found)
    return nodes_answer(found) if isinstance(found, Sizing) else drain_answer(found)


def fit_answer(found: Fit) -> str:
    """How many pods fit, and the main reason against the next one."""
    fits = "fits" if found.count == 1 else "fit"
    if not found.exact:
        why = "timed out" if found.stopped else "counting stopped at the limit"
        return f"At least {found.count:,} more such {'pod' if found.count == 1 else 'pods'} {fits}: {why}"
    if not found.count:
        return "No such pod fits" + (f": {_most(found)}" if found.reasons else "")
    return f"{found.count:,} more such {'pod' if found.count == 1 else 'pods'} {fits}; then {_most(found)}"


def _most(found: Fit) -> str:
    if not found.reasons:
        return "the scheduler says no"
    open_before = [reason for reason in found.reasons if reason.filled]
    reason = (open_before or found.reasons)[0]
    return f"{reason.text or reason.plugin or 'no reason is given'} on {counted(len(reason.nodes), 'nodes')}"


def gangs_answer(found: GangFit) -> str:
    """How many gangs fit, and how far the next one comes."""
    fits = "fits" if found.count == 1 else "fit"
    gangs = f"{counted(found.count, 'more gangs')} of {counted(found.pods, 'pods')}"
    if not found.exact:
        why = "timed out" if found.stopped else "counting stopped at the limit"
        return f"At least {gangs} {fits}: {why}"
    if not found.count:
        return f"No gang of {counted(found.pods, 'pods')} fits{_of_next(found, ': ', 'it')}"
    return f"{gangs} {fits}{_of_next(found, '; then ', 'the next one')}"


def _of_next(found: GangFit, before: str, gang: str) -> str:
    """How many pods of the gang that does not fit find a node: in the domain where most do, if there are domains."""
    if not found.results:
        return ""
    most = max(result.placed for result in found.results)
    where = " in one domain" if found.results[0].name else ""
    if not most:
        return f"{before}no pod of {gang} finds a node"
    return f"{before}only {counted(most, 'pods')} of {gang} {'finds' if most == 1 else 'find'} a node{where}"


def nodes_answer(found: Sizing) -> str:
    """How many nodes are needed, and which pods no number helps."""
    if not found.pods:
        return "There is no pod to make room for"
    if found.needed is None:
        return (
            f"{found.most:,} new nodes are not enough: {counted(found.tried[found.most], 'pods')} would still not fit"
        )
    helped, new_nodes = found.pods - found.hopeless, counted(found.needed, "new nodes")
    if not found.hopeless:
        if not found.needed:
            return f"No new node is needed: {_all(found.pods)} now"
        return f"{new_nodes} {'is' if found.needed == 1 else 'are'} needed for {_pods(found.pods)}"
    no_help = f"no number of such nodes helps {counted(found.hopeless, 'pods')}"
    if not found.needed:
        return f"{no_help[0].upper()}{no_help[1:]} of {found.pods:,}" + (f"; {_all(helped)} now" if helped else "")
    return f"{new_nodes} {'makes' if found.needed == 1 else 'make'} {helped:,} pods fit; {no_help}"


def _all(number: int) -> str:
    return "the pod fits" if number == 1 else f"all {number:,} pods fit"


def _pods(number: int) -> str:
    return "the pod" if number == 1 else f"all {number:,} pods"


def drain_answer(found: Rehearsal) -> str:
    """Whether the nodes can be drained, and what blocks them."""
    total, moved = len(found.nodes), len(found.moves)
    which = "The node" if total == 1 else f"All {total:,} nodes"
    if found.emptied:
        return f"{which} can be emptied: {counted(moved, 'pods')} {'moves' if moved == 1 else 'move'}"
    kinds = dict.fromkeys(BLOCKED.get(block.kind, block.kind) for block in found.blocks)
    by = " and ".join(([", ".join(list(kinds)[:-1])] if len(kinds) > 1 else []) + list(kinds)[-1:])
    if total == 1:
        return f"The node cannot be emptied: blocked by {by}"
    done = sum(node.emptied for node in found.nodes)
    return f"{done:,} of {total:,} nodes can be emptied; the others are blocked by {by}"


def buffer_answer(found: Buffer) -> str:
    """Whether the cluster survives, and which loss leaves most pods without a node."""
    if not found.losses:
        return "No node has a zone, so there is no zone to lose"
    whose = "every pod" if found.priority == LOWEST else f"every pod of priority {found.priority:,} and above"
    worst = found.worst
    if found.survives or worst is None:
        named = " or of ".join(_kinds(found))
        return f"The cluster survives the loss of {named}: {whose} is placed again"
    left = worst.pods - worst.placed
    return (
        f"The cluster does not survive the loss of {loss_name(worst)}: {counted(left, 'pods')} of {worst.pods:,} "
        f"{'finds' if left == 1 else 'find'} no node"
    )


def _kinds(found: Buffer) -> list[str]:
    kinds = {loss.kind: loss for loss in found.losses}
    return ["any one zone" if kind == LOST_ZONE else loss_name(loss) for kind, loss in kinds.items()]


def loss_name(loss: Loss) -> str:
    """Such as "zone a" or "the 3 largest nodes"."""
    if loss.kind == LOST_ZONE:
        return f"zone {loss.name}"
    return f"the {len(loss.nodes):,} largest nodes" if len(loss.nodes) > 1 else f"the largest node, {loss.nodes[0]}"
