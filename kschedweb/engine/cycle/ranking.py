"""The ranking of the chosen node among the feasible nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.signature_plans import AdHocPlan, Scored, SignaturePlan
from kschedweb.engine.framework.decision import RankedNode
from kschedweb.engine.framework.diagnosis import EXTENDER
from kschedweb.engine.state.columns import Ints


class NodeRanking(NamedTuple):
    """The best nodes of a cycle."""

    # The chosen node first.
    top: tuple[RankedNode, ...] = ()
    # The chosen node's total less the next best; None if there is no other.
    margin: int | None = None
    # The number of equally good nodes that the chosen one was drawn from, 0 if it was not drawn.
    drawn: int = 0

    def to_placement(self, pod: str, node: str, evaluated: int, feasible: int) -> Placement:
        """Return the placement of the pod ``pod`` on the chosen ``node``."""
        return Placement(pod, node, evaluated, feasible, margin=self.margin, drawn=self.drawn, top=self.top)


UNRANKED = NodeRanking()


def rank_nodes(
    plan: SignaturePlan | AdHocPlan,
    scored: Scored,
    rows: NDArray[np.intp],
    names: list[str],
    best: int,
    number: int,
    added: Ints | None = None,
    also: int = -1,
) -> NodeRanking:
    """Return the ``number`` best of the nodes ``rows``, with the chosen one at place ``best`` first.

    ``added`` is what extenders add to the totals. The node at position ``also`` is listed last if it is one of ``rows``
    and not among the best.
    """
    totals = scored.totals if added is None else scored.totals + added
    other_places = [place for place in _find_top_places(totals, number + 1) if place != best]
    margin = int(totals[best] - totals[other_places[0]]) if other_places else None
    places, top = [best, *other_places][:number], []
    if also >= 0:
        places += [place for place in np.flatnonzero(rows == also).tolist() if place not in places]
    for place, parts in zip(places, plan.split_totals(scored, rows, places), strict=True):
        if added is not None:
            parts[EXTENDER] = int(added[place])
        top.append(RankedNode(names[int(rows[place])], sum(parts.values()), parts))
    return NodeRanking(tuple(top), margin)


def _find_top_places(totals: Ints, number: int) -> list[int]:
    """Return the places of the ``number`` highest totals, highest first; equal ones in any order."""
    number = min(number, len(totals))
    places = np.argpartition(totals, len(totals) - number)[len(totals) - number :]
    ranked = sorted(zip((-totals[places]).tolist(), places.tolist(), strict=True))
    return [place for _, place in ranked]
