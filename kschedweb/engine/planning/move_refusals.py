"""The reason why a search for moves ended, from the moves that were tried last."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.planning.results import BUDGET, MAX_MOVES, NO_GAIN, NO_PLACE, REACHED, TIME, Stop
from kschedweb.engine.planning.trial_cluster import MoveOutcome
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class MoveRefusals:
    """The refusals of one search for a next move."""

    # Disruption budgets that forbid an eviction, in the order of the tries; a dict serves as an ordered set.
    budgets: dict[str, None] = field(default_factory=dict)
    # Pods that would come back to their node.
    back: int = 0
    # Pods whose move would not help.
    useless: int = 0
    # Pods that would find no node, and the first message about one.
    unplaced: int = 0
    message: str = ""

    def record_outcome(self, outcome: MoveOutcome, *, gained: bool) -> None:
        if outcome.budget:
            self.budgets.setdefault(outcome.budget)
        elif outcome.back:
            self.back += 1
        elif not outcome.node:
            self.unplaced += 1
            self.message = self.message or outcome.message
        elif not gained:
            self.useless += 1

    @staticmethod
    def stop_reached() -> Stop:
        return Stop(REACHED, "The objective is reached.")

    @staticmethod
    def stop_at_max_moves(number: int) -> Stop:
        return Stop(MAX_MOVES, f"No more than {number:,} moves were asked for.")

    @staticmethod
    def stop_out_of_time() -> Stop:
        return Stop(TIME, "The time for the search was up: this is the best plan that was found until then.")

    def find_stop(self) -> Stop:
        """Return the reason that weighs most, followed by the others."""
        parts = []
        if self.budgets:
            parts.append(
                (BUDGET, f"Disruption budgets allow no eviction of pods that would help: {', '.join(self.budgets)}.")
            )
        if self.unplaced:
            parts.append(
                (NO_PLACE, f"{_format_pods(self.unplaced)} that would help would find no node: {self.message}")
            )
        if self.back:
            parts.append(
                (NO_PLACE, f"{_format_pods(self.back)} that would help would come back to the node that they left.")
            )
        if self.useless:
            remark = "would be put where that does not help"
            parts.append((NO_GAIN, f"{_format_pods(self.useless)} that could go {remark}."))
        if not parts:
            return Stop(NO_GAIN, "No move of a pod that may go brings the objective nearer.")
        return Stop(parts[0][0], " ".join(text for _, text in parts))


def _format_pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number:,} pods"
