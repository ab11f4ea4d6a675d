"""The titles of decisions that find a node, as whole sentences: where the pod is, and where it would go now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.parts import Headline
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.responsibility import ApprovalWait


class Standing(StrEnum):
    """Where a pod is before it is decided about.

    ``TRIED``: in a run, at a time of its own; ``HERE``: on the node that would be chosen again; ``ELSEWHERE``: on
    another node.
    """

    PENDING = "pending"
    TRIED = "tried"
    HERE = "here"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Sentences:
    """``only``: no other node can run it; ``shared``: with the same total as others; ``ahead``: of all others."""

    only: str
    shared: str
    ahead: str


FITS = {
    Standing.PENDING: Sentences(
        _("{pod} would fit now on {node}, the only node that can run it"),
        _("{pod} would fit now on {node}: {total} of {maximum}, shared with {others}"),
        _("{pod} would fit now on {node}: {total} of {maximum}, {margin} ahead of {second}; {plugin} decided"),
    ),
    Standing.TRIED: Sentences(
        _("{pod} goes to {node}, the only node that can run it"),
        _("{pod} goes to {node}: {total} of {maximum}, shared with {others}"),
        _("{pod} goes to {node}: {total} of {maximum}, {margin} ahead of {second}; {plugin} decided"),
    ),
    Standing.HERE: Sentences(
        _("{pod} is on {bound} and would go there again, to the only node that can run it"),
        _("{pod} is on {bound} and would go there again: {total} of {maximum}, shared with {others}"),
        _(
            "{pod} is on {bound} and would go there again: {total} of {maximum}, {margin} ahead of {second}; "
            "{plugin} decided"
        ),
    ),
    Standing.ELSEWHERE: Sentences(
        _("{pod} is on {bound}; now it would go to {node}, the only node that can run it"),
        _("{pod} is on {bound}; now it would go to {node}: {total} of {maximum}, shared with {others}"),
        _(
            "{pod} is on {bound}; now it would go to {node}: {total} of {maximum}, {margin} ahead of {second}; "
            "{plugin} decided"
        ),
    ),
}
STUCK = {
    Standing.PENDING: _("{pod} is pending: {why}"),
    Standing.TRIED: _("{pod} is pending: {why}"),
    Standing.ELSEWHERE: _("{pod} is on {bound}; now it would fit nowhere: {why}"),
}


def waiting_headline(pod: str, wait: ApprovalWait, decided: str) -> Headline:
    """The headline of a pod that waits for approval; ``decided`` is that of a decision made now."""
    told = {"pod": pod, "lasting": wait.lasting, "node": wait.node, "people": wait.people}
    title = gettext("%(pod)s waits for approval for %(lasting)s: %(node)s, %(people)s") % told
    held = gettext("%(scheduler)s found this node for it, and holds it there until people decide.")
    now = gettext("Decided anew on this snapshot: %(decided)s.")
    return Headline(title, "amber", [held % {"scheduler": wait.scheduler_name}, now % {"decided": decided}])
