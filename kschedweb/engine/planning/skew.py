"""The skew of real use: the highest node less the lowest, by the expected use of their pods."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.planning.columns import PlanColumns
from kschedweb.engine.planning.results import REACHED, MoveSearchResult, PlanError
from kschedweb.engine.planning.skew_search import EPSILON, IterativeDeepening, SkewSearch
from kschedweb.engine.planning.trial_cluster import TrialCluster
from kschedweb.engine.values import dataclass

# Powers of the distance to the band: the higher, the more far nodes count. Large clusters use only the first.
POWERS = (4, 2, 8)
# The most movable pods for which several searches are tried.
SMALL = 200


@dataclass(frozen=True, slots=True)
class Skew:
    """The objective of at most ``at_most`` points between the highest and the lowest node."""

    at_most: float
    # cpu or memory.
    resource: str = CPU
    # Levels are sums over pods, which follow moves at once, instead of measurements, which follow later.
    by_pods: bool = False
    name: str = field(default="skew", init=False)
    unit: str = field(default="points", init=False)
    rises: bool = field(default=False, init=False)

    @property
    def target(self) -> float:
        return self.at_most

    def compute_gain(self, before: float, value: float) -> float:
        """Return the gain from ``before`` to ``value``; nothing counts beyond the target."""
        return before - max(value, self.at_most) if before > self.at_most else 0.0

    def is_reached(self, value: float) -> bool:
        return value <= self.at_most + EPSILON

    def find_moves(self, trial_cluster: TrialCluster, max_moves: int, price: float) -> MoveSearchResult:
        """Make the moves on the trial cluster; raises PlanError.

        In small clusters the fewest moves are first searched exactly, within limits, then with several powers. The best
        of these searches is repeated in full, even if it is late.
        """
        if self.resource not in (CPU, MEMORY):
            raise PlanError(f"{self.resource}: real use is known of cpu and memory alone")
        columns = PlanColumns(trial_cluster, self.resource, by_pods=self.by_pods)

        def create_search(kind: type[SkewSearch], power: int) -> SkewSearch:
            return kind(trial_cluster, columns, self.resource, self.at_most, power, max_moves)

        if len(trial_cluster.movable) > SMALL:
            large = create_search(SkewSearch, POWERS[0])
            large.late = trial_cluster.late
            return large.run()
        worth: dict[int, tuple[float, int]] = {}
        mark, state = trial_cluster.mark(), columns.save_state()
        if not price:
            result = create_search(IterativeDeepening, POWERS[0]).run()
            if result.stop.kind == REACHED:
                return result
        for power in POWERS:
            if worth and trial_cluster.late():
                break
            trial_cluster.rollback(mark)
            columns.restore_state(state)
            worth[power] = _measure_worth(self, create_search(SkewSearch, power).run(), price)
        trial_cluster.rollback(mark)
        columns.restore_state(state)
        return create_search(SkewSearch, max(worth, key=worth.__getitem__)).run()


def _measure_worth(objective: Skew, result: MoveSearchResult, price: float) -> tuple[float, int]:
    """Return the best gain of a search less the cost of moves, and minus the moves that it takes."""
    gains = [
        objective.compute_gain(result.before, value) - price * place
        for place, value in enumerate((result.before, *result.values))
    ]
    best = gains.index(max(gains))
    return round(gains[best], 9), -best
