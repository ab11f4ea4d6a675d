"""The titles of decisions that find a node, as whole sentences: where the pod is, and where it would go now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kschedweb.web.translating import gettext_lazy as _


class PlacementState(StrEnum):
    """Where a pod is before it is decided about.

    ``ATTEMPTED``: in a run, at a time of its own; ``ON_CHOSEN_NODE``: on the node that would be chosen again;
    ``ON_OTHER_NODE``: on another node.
    """

    PENDING = "pending"
    ATTEMPTED = "tried"
    ON_CHOSEN_NODE = "here"
    ON_OTHER_NODE = "elsewhere"


@dataclass(frozen=True)
class TitleTemplates:
    """``only``: no other node can run it; ``shared``: with the same total as others; ``ahead``: of all others."""

    only: str
    shared: str
    ahead: str


FITS = {
    PlacementState.PENDING: TitleTemplates(
        _("{pod} would fit now on {node}, the only node that can run it"),
        _("{pod} would fit now on {node}: {total} of {maximum}, shared with {others}"),
        _("{pod} would fit now on {node}: {total} of {maximum}, {margin} ahead of {second}; {plugin} decided"),
    ),
    PlacementState.ATTEMPTED: TitleTemplates(
        _("{pod} goes to {node}, the only node that can run it"),
        _("{pod} goes to {node}: {total} of {maximum}, shared with {others}"),
        _("{pod} goes to {node}: {total} of {maximum}, {margin} ahead of {second}; {plugin} decided"),
    ),
    PlacementState.ON_CHOSEN_NODE: TitleTemplates(
        _("{pod} is on {bound} and would go there again, to the only node that can run it"),
        _("{pod} is on {bound} and would go there again: {total} of {maximum}, shared with {others}"),
        _(
            "{pod} is on {bound} and would go there again: {total} of {maximum}, {margin} ahead of {second}; "
            "{plugin} decided"
        ),
    ),
    PlacementState.ON_OTHER_NODE: TitleTemplates(
        _("{pod} is on {bound}; now it would go to {node}, the only node that can run it"),
        _("{pod} is on {bound}; now it would go to {node}: {total} of {maximum}, shared with {others}"),
        _(
            "{pod} is on {bound}; now it would go to {node}: {total} of {maximum}, {margin} ahead of {second}; "
            "{plugin} decided"
        ),
    ),
}
STUCK = {
    PlacementState.PENDING: _("{pod} is pending: {why}"),
    PlacementState.ATTEMPTED: _("{pod} is pending: {why}"),
    PlacementState.ON_OTHER_NODE: _("{pod} is on {bound}; now it would fit nowhere: {why}"),
}
