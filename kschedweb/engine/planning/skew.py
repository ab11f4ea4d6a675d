"""The skew of real use: the highest node less the lowest, by what their pods are expected to use."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.planning.columns import Columns
from kschedweb.engine.planning.deepening import Deepening
from kschedweb.engine.planning.ground import Ground
from kschedweb.engine.planning.results import REACHED, Found, PlanError
from kschedweb.engine.planning.search import LEAST, Search
from kschedweb.engine.values import dataclass

POWERS = (4, 2, 8)  # how much more a far node counts; the first one alone in large clusters
SMALL = 200  # movable pods


@dataclass(frozen=True, slots=True)
class Skew:
    """At most ``at_most`` points between the highest and the lowest node. ``resource`` is cpu or memory.

    Levels of nodes are those that were measured. ``by_pods``: they are the sums over their pods, which follow moves at
    once, for whoever plans again before the measurements have caught up.
    """

    at_most: float
    resource: str = CPU
    by_pods: bool = False
    name: str = field(default="skew", init=False)
    unit: str = field(default="points", init=False)
    rises: bool = field(default=False, init=False)

    @property
    def target(self) -> float:
        return self.at_most

    def gained(self, before: float, value: float) -> float:
        """What the objective gained from ``before`` to ``value``; nothing counts beyond the target."""
        return before - max(value, self.at_most) if before > self.at_most else 0.0

    def reached(self, value: float) -> bool:
        return value <= self.at_most + LEAST

    def search(self, ground: Ground, most: int, price: float) -> Found:
        """Make the moves on the ground; raises PlanError.

        In small clusters the fewest moves are looked for exactly, within bounds, then by several powers;
        what is found last is not cut short where it is late.
        """
        if self.resource not in (CPU, MEMORY):
            raise PlanError(f"{self.resource}: real use is known of cpu and memory alone")
        columns = Columns(ground, self.resource, by_pods=self.by_pods)

        def search(kind: type[Search], power: int) -> Search:
            return kind(ground, columns, self.resource, self.at_most, power, most)

        if len(ground.movable) > SMALL:
            large = search(Search, POWERS[0])
            large.late = ground.late
            return large.run()
        worth: dict[int, tuple[float, int]] = {}
        mark, state = ground.mark(), columns.state()
        if not price:
            found = search(Deepening, POWERS[0]).run()
            if found.stop.kind == REACHED:
                return found
        for power in POWERS:
            if worth and ground.late():
                break
            ground.rollback(mark)
            columns.restore(state)
            worth[power] = _worth(self, search(Search, power).run(), price)
        ground.rollback(mark)
        columns.restore(state)
        return search(Search, max(worth, key=worth.__getitem__)).run()


def _worth(objective: Skew, found: Found, price: float) -> tuple[float, int]:
    """What a search is worth at best, and less the moves that it takes for that."""
    gains = [
        objective.gained(found.before, value) - price * place
        for place, value in enumerate((found.before, *found.values))
    ]
    best = gains.index(max(gains))
    return round(gains[best], 9), -best
