"""Extenders as 1.13 called them: in the order of the policy, without normalising their scores."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.extenders.extender import Extender, Extenders, FilteredNodes, Post
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.columns import Ints, Mask


class ClassicExtenders(Extenders):
    def __init__(self, configurations: Iterable[Json] = (), post: Post | None = None) -> None:
        listed = list(configurations)
        super().__init__(listed, post)
        self._all = [Extender(configuration, post) for configuration in listed]

    def prioritize(self, cycle: Cycle, nodes: FilteredNodes) -> tuple[Ints, Mask]:
        """Return the weighted scores of extenders, and a mask of the nodes that they scored. Failures add nothing."""
        return self._weighted_scores(cycle, nodes, 1)
