"""What a caller wants of one search for a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kschedweb.engine.framework.decision import UNTIMED, Stopwatch

Draw = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Where no node is found, ``post_filter`` says what could be done, and ``preempt`` has it done at once.

    The search begins at the node at position ``start``; ``None``: where the last one ended. The placement tells of the
    ``ranks`` best nodes, and beside these of the node ``also`` where it was scored. ``draw`` says which of so many
    equally good nodes is taken; without it the first on kube-scheduler's heap is. ``elsewhere``: what PostFilter
    plugins want done is done in the cluster, by whoever asks. ``watch`` measures the extension points.
    """

    post_filter: bool = False
    preempt: bool = False
    start: int | None = None
    ranks: int = 0
    also: str = ""
    draw: Draw | None = None
    elsewhere: bool = False
    watch: Stopwatch = UNTIMED


NODE_ONLY = SearchRequest()
WITH_POST_FILTER = SearchRequest(post_filter=True)
