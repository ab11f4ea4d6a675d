"""Actions that a simulation will do, by time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

Action = Callable[[float], None]


class Agenda:
    """Actions by time (seconds); at the same time, in the order in which they were entered."""

    def __init__(self) -> None:
        # (time, number, looks, action): the number keeps the order, and actions are never compared.
        self._entries: list[tuple[float, int, bool, Action]] = []
        self._entered = 0
        # Number of actions to come, without those that only look at what happens.
        self.due = 0

    def schedule_action(self, time: float, action: Action, *, looks: bool = False) -> None:
        """Call ``action`` with ``time`` then; ``looks`` means that it changes nothing."""
        heapq.heappush(self._entries, (time, self._entered, looks, action))
        self._entered += 1
        self.due += not looks

    @property
    def next_time(self) -> float | None:
        return self._entries[0][0] if self._entries else None

    def run_due(self, now: float) -> None:
        """Do all actions that are due by ``now``, including those that are entered meanwhile."""
        while self._entries and self._entries[0][0] <= now:
            _, _, looks, action = heapq.heappop(self._entries)
            self.due -= not looks
            action(now)
