"""Extenders as 1.13 called them: in the order of the policy, without normalising their scores."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.extenders.extender import Extender, Extenders, Passed, Post
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.objects.access import Json
from kschedweb.engine.state.columns import Ints, Mask


class ClassicExtenders(Extenders):
    def __init__(self, configurations: Iterable[Json] = (), post: Post | None = None) -> None:
        listed = list(configurations)
        super().__init__(listed, post)
        self._all = [Extender(one, post) for one in listed]

    def prioritize(self, cycle: Cycle, nodes: Passed) -> tuple[Ints, Mask]:
        """The weighted scores that extenders add, and the nodes that they scored; failures add nothing."""
        return self._added(cycle, nodes, 1)
