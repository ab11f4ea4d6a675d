"""The titles of decisions that find a node, as whole sentences: where the pod is, and where it would go now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kschedweb.web.translating import gettext_lazy as _


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
