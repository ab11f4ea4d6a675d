"""Answers in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, gettext_noop, ngettext

from kschedweb.engine.studies.capacity.buffer import LOST_ZONE, LOWEST, Buffer, Loss
from kschedweb.engine.studies.capacity.capacity import Fit
from kschedweb.engine.studies.capacity.drain import BUDGET, LOCAL, NO_ROOM, UNMANAGED, Rehearsal
from kschedweb.engine.studies.capacity.gangs import GangFit
from kschedweb.engine.studies.capacity.sizing import Sizing
from kschedweb.web.units import counted

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision

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


def label(revision: Revision) -> str:
    """Such as "default, revision 3", which is stored; pages say it in the reader's language by ``web/told``."""
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
    said = {"number": f"{found.count:,}", "reason": _most(found), "why": _inexact(found)}
    if found.unlimited:
        return gettext("At most %(number)s more such pods fit: the claims of each are not known") % said
    if not found.exact:
        least = ngettext(
            "At least %(number)s more such pod fits: %(why)s", "At least %(number)s more such pods fit: %(why)s",
            found.count,
        )  # fmt: skip
        return least % said
    if not found.count:
        return gettext("No such pod fits: %(reason)s") % said if found.reasons else gettext("No such pod fits")
    many = ngettext(
        "%(number)s more such pod fits; then %(reason)s", "%(number)s more such pods fit; then %(reason)s", found.count
    )
    return many % said


def _inexact(found: Fit | GangFit) -> str:
    if found.failed:
        return gettext("the scheduling cycle of the next one fails")
    return gettext("timed out") if found.stopped else gettext("counting stopped at the limit")


def _most(found: Fit) -> str:
    if not found.reasons:
        return gettext("the scheduler says no")
    open_before = [reason for reason in found.reasons if reason.filled]
    reason = (open_before or found.reasons)[0]
    said = reason.text or reason.plugin or gettext("no reason is given")
    return gettext("%(reason)s on %(nodes)s") % {"reason": said, "nodes": counted(len(reason.nodes), "nodes")}


def gangs_answer(found: GangFit) -> str:
    """How many gangs fit, and how far the next one comes."""
    said = {"number": f"{found.count:,}", "pods": counted(found.pods, "pods"), "why": _inexact(found)}
    if found.unlimited:
        return gettext("At most %(number)s more gangs of %(pods)s fit: the claims of each pod are not known") % said
    if not found.exact:
        least = ngettext(
            "At least %(number)s more gang of %(pods)s fits: %(why)s",
            "At least %(number)s more gangs of %(pods)s fit: %(why)s",
            found.count,
        )
        return least % said
    said["next"] = _of_next(found)
    if not found.count:
        none = gettext("No gang of %(pods)s fits: %(next)s") if said["next"] else gettext("No gang of %(pods)s fits")
        return none % said
    if not said["next"]:
        only = ngettext("%(number)s more gang of %(pods)s fits", "%(number)s more gangs of %(pods)s fit", found.count)
        return only % said
    many = ngettext(
        "%(number)s more gang of %(pods)s fits; then %(next)s",
        "%(number)s more gangs of %(pods)s fit; then %(next)s",
        found.count,
    )
    return many % said


def _of_next(found: GangFit) -> str:
    """How many pods of the gang that does not fit find a node: in the domain where most do, if there are domains."""
    if not found.results:
        return ""
    most = max(result.placed for result in found.results)
    said = {"number": f"{most:,}", "gang": gettext("the next one") if found.count else gettext("it")}
    if not most:
        return gettext("no pod of %(gang)s finds a node") % said
    if found.results[0].name:
        some = ngettext(
            "only %(number)s pod of %(gang)s finds a node in one domain",
            "only %(number)s pods of %(gang)s find a node in one domain",
            most,
        )
    else:
        some = ngettext(
            "only %(number)s pod of %(gang)s finds a node", "only %(number)s pods of %(gang)s find a node", most
        )
    return some % said


def nodes_answer(found: Sizing) -> str:
    """How many nodes are needed, and which pods no number helps."""
    if not found.pods:
        return gettext("There is no pod to make room for")
    if found.needed is None:
        left = counted(found.tried[found.most], "pods")
        return gettext("%(number)s new nodes are not enough: %(pods)s would still not fit") % {
            "number": f"{found.most:,}", "pods": left,
        }  # fmt: skip
    if found.hopeless:
        return _partly(found, found.needed)
    said = {"number": f"{found.needed:,}", "pods": f"{found.pods:,}"}
    if not found.needed:
        return ngettext(
            "No new node is needed: the pod fits now", "No new node is needed: all %(pods)s pods fit now", found.pods
        ) % said  # fmt: skip
    if found.pods == 1:
        return ngettext(
            "%(number)s new node is needed for the pod", "%(number)s new nodes are needed for the pod", found.needed
        ) % said  # fmt: skip
    return ngettext(
        "%(number)s new node is needed for all %(pods)s pods",
        "%(number)s new nodes are needed for all %(pods)s pods",
        found.needed,
    ) % said  # fmt: skip


def _partly(found: Sizing, needed: int) -> str:
    """Where some pods fit on no number of such nodes."""
    helped = found.pods - found.hopeless
    said = {
        "number": f"{needed:,}", "helped": f"{helped:,}", "hopeless": counted(found.hopeless, "pods"),
        "pods": f"{found.pods:,}",
    }  # fmt: skip
    if needed:
        return ngettext(
            "%(number)s new node makes %(helped)s pods fit; no number of such nodes helps %(hopeless)s",
            "%(number)s new nodes make %(helped)s pods fit; no number of such nodes helps %(hopeless)s",
            needed,
        ) % said  # fmt: skip
    if not helped:
        return gettext("No number of such nodes helps %(hopeless)s of %(pods)s") % said
    return ngettext(
        "No number of such nodes helps %(hopeless)s of %(pods)s; the other pod fits now",
        "No number of such nodes helps %(hopeless)s of %(pods)s; the other %(helped)s pods fit now",
        helped,
    ) % said  # fmt: skip


def drain_answer(found: Rehearsal) -> str:
    """Whether the nodes can be drained, and what blocks them."""
    total = len(found.nodes)
    said = {"number": f"{total:,}"}
    if found.emptied:
        moves = ngettext("%(number)s pod moves", "%(number)s pods move", len(found.moves))
        said["moves"] = moves % {"number": f"{len(found.moves):,}"}
        return ngettext(
            "The node can be emptied: %(moves)s", "All %(number)s nodes can be emptied: %(moves)s", total
        ) % said  # fmt: skip
    kinds = dict.fromkeys(BLOCKED.get(block.kind, block.kind) for block in found.blocks)
    said |= {"kinds": ", ".join(map(gettext, kinds)), "done": f"{sum(node.emptied for node in found.nodes):,}"}
    return ngettext(
        "The node cannot be emptied: blocked by %(kinds)s",
        "%(done)s of %(number)s nodes can be emptied; the others are blocked by %(kinds)s",
        total,
    ) % said  # fmt: skip


def buffer_answer(found: Buffer) -> str:
    """Whether the cluster survives, and which loss leaves most pods without a node."""
    if not found.losses:
        return gettext("No node has a zone, so there is no zone to lose")
    worst = found.worst
    if found.survives or worst is None:
        said = {"losses": gettext(" or of ").join(_kinds(found)), "priority": f"{found.priority:,}"}
        if found.priority == LOWEST:
            return gettext("The cluster survives the loss of %(losses)s: every pod is placed again") % said
        return gettext(
            "The cluster survives the loss of %(losses)s: every pod of priority %(priority)s and above is placed again"
        ) % said  # fmt: skip
    left = worst.pods - worst.placed
    return ngettext(
        "The cluster does not survive the loss of %(loss)s: %(left)s of %(pods)s pods finds no node",
        "The cluster does not survive the loss of %(loss)s: %(left)s of %(pods)s pods find no node",
        left,
    ) % {"loss": loss_name(worst), "left": f"{left:,}", "pods": f"{worst.pods:,}"}  # fmt: skip


def _kinds(found: Buffer) -> list[str]:
    kinds = {loss.kind: loss for loss in found.losses}
    return [gettext("any one zone") if kind == LOST_ZONE else loss_name(loss) for kind, loss in kinds.items()]


def loss_name(loss: Loss) -> str:
    """Such as "zone a" or "the 3 largest nodes"."""
    if loss.kind == LOST_ZONE:
        return gettext("zone %(name)s") % {"name": loss.name}
    if len(loss.nodes) == 1:
        return gettext("the largest node, %(name)s") % {"name": loss.nodes[0]}
    return gettext("the %(number)s largest nodes") % {"number": f"{len(loss.nodes):,}"}
