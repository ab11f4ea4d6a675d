"""What a caller wants of one search for a node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.decision import UNTIMED, Stopwatch
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.values import dataclass

Draw = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """If no node is found, ``post_filter`` asks what could be done, and ``preempt`` has it done at once.

    The search begins at the node at position ``start``, or where the last search ended (``None``). The placement lists
    the ``ranks`` best nodes, and also the node ``also_ranked`` if it was scored. ``draw`` picks one of so many equally
    good nodes; without it the first on kube-scheduler's heap is taken. ``allowed_nodes`` are the positions, in order,
    of the only nodes to choose from. ``elsewhere``: the caller does in the cluster what PostFilter plugins want done.
    ``on_diagnosis`` hears of a search among nodes what is known of those that it came to. ``watch`` measures the
    extension points.
    """

    post_filter: bool = False
    preempt: bool = False
    start: int | None = None
    ranks: int = 0
    also_ranked: str = ""
    draw: Draw | None = None
    elsewhere: bool = False
    watch: Stopwatch = UNTIMED
    allowed_nodes: NDArray[np.intp] | None = None
    on_diagnosis: Callable[[Cycle, Diagnosis], None] | None = None


NODE_ONLY = SearchRequest()
WITH_POST_FILTER = SearchRequest(post_filter=True)
WITH_PREEMPTION = SearchRequest(preempt=True)
