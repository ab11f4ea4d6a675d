"""Titles of decisions as whole sentences, so that translators see where the pod is and where it would go."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kschedweb.web.translating import gettext_lazy as _


class PlacementState(StrEnum):
    """The place of a pod before it is decided."""

    PENDING = "pending"
    # In a run, at a time of the run.
    ATTEMPTED = "tried"
    # On the node that would be chosen again.
    ON_CHOSEN_NODE = "here"
    # On another node.
    ON_OTHER_NODE = "elsewhere"


@dataclass(frozen=True)
class TitleTemplates:
    """The titles of a pod that finds a node."""

    # No other node can run it.
    only: str
    # Other nodes have the same total.
    shared: str
    # It leads all other nodes.
    ahead: str


FITS = {
    PlacementState.PENDING: TitleTemplates(
        _("{pod} fits now on {node}, the only node that can run it"),
        _("{pod} fits now: {node} scores best ({total} of {maximum}), tied with {others}"),
        _("{pod} fits now: {node} scores best ({total} of {maximum}), {margin} ahead of {second}; {plugin} decided"),
    ),
    PlacementState.ATTEMPTED: TitleTemplates(
        _("{pod} goes to {node}, the only node that can run it"),
        _("{pod} goes to {node}: {total} of {maximum}, tied with {others}"),
        _("{pod} goes to {node}: {total} of {maximum}, {margin} ahead of {second}; {plugin} decided"),
    ),
    PlacementState.ON_CHOSEN_NODE: TitleTemplates(
        _("{pod} is on {bound} and would go there again, to the only node that can run it"),
        _("{pod} is on {bound} and would go there again: {total} of {maximum}, tied with {others}"),
        _(
            "{pod} is on {bound} and would go there again: {total} of {maximum}, {margin} ahead of {second}; "
            "{plugin} decided"
        ),
    ),
    PlacementState.ON_OTHER_NODE: TitleTemplates(
        _("{pod} is on {bound}; now it would go to {node}, the only node that can run it"),
        _("{pod} is on {bound}; now it would go to {node}: {total} of {maximum}, tied with {others}"),
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
