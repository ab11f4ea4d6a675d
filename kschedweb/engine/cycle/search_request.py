"""Requests for one search for a node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.decision import UNTIMED, Stopwatch
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.groups import NodeRanking
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.values import dataclass

# Picks one of so many equally good nodes, by index.
Draw = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The options of one search for a node."""

    # Run PostFilter if no node is found.
    post_filter: bool = False
    # Run PostFilter if no node is found, and do at once what it proposes.
    preempt: bool = False
    # The position of the node at which the search begins; None for where the last search ended.
    start: int | None = None
    # The number of best nodes that the placement lists.
    ranks: int = 0
    # A node that the placement lists too, if it was scored.
    also_ranked: str = ""
    # Without it, the first node on kube-scheduler's heap is chosen.
    draw: Draw | None = None
    # The caller carries out in the cluster what PostFilter plugins propose.
    elsewhere: bool = False
    # Measures the extension points.
    watch: Stopwatch = UNTIMED
    # The positions, in order, of the only nodes to choose from; None for all.
    allowed_nodes: NDArray[np.intp] | None = None
    # The order in which nodes are tried; None for the order of the nodes.
    ranking: NodeRanking | None = None
    # Called after a search over nodes, with the verdicts on those that it visited.
    on_diagnosis: Callable[[Cycle, Diagnosis], None] | None = None


NODE_ONLY = SearchRequest()
WITH_POST_FILTER = SearchRequest(post_filter=True)
WITH_PREEMPTION = SearchRequest(preempt=True)
