"""Pods that have a node here, but not yet in the cluster: they wait at Permit or are being bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum

from kschedweb.engine.cycle.binding import BindingCycle
from kschedweb.engine.framework.decision import Decision
from kschedweb.engine.queue import QueuedPod
from kschedweb.engine.values import dataclass


class Stage(Enum):
    WAITING = "waits at Permit"
    BINDING = "is being bound"
    BOUND = "was bound; the cluster has not shown it yet"


@dataclass(slots=True, eq=False)
class Reservation:
    """A pod and the node that it is about to be bound to."""

    queued: QueuedPod
    binding: BindingCycle
    decision: Decision
    stage: Stage = Stage.WAITING
    # True if the end of the pod's wait is decided outside.
    is_held: bool = False

    @property
    def node(self) -> str:
        return self.binding.node

    @property
    def uid(self) -> str:
        return self.queued.pod.uid


class Reservations:
    """Reservations by the pod's uid, in the order in which they were made."""

    def __init__(self) -> None:
        self._known: dict[str, Reservation] = {}
        # The part of them that waits at Permit.
        self._waiting: dict[str, Reservation] = {}
        # A lower bound of the ends of all waits, in seconds: it saves looking at each at every step.
        self._deadline: float | None = None

    def __iter__(self) -> Iterator[Reservation]:
        return iter(list(self._known.values()))

    def __contains__(self, uid: str) -> bool:
        return uid in self._known

    def get(self, uid: str) -> Reservation | None:
        return self._known.get(uid)

    def find_waiting(self, uid: str) -> Reservation | None:
        """Return the reservation of a pod that waits at Permit."""
        return self._waiting.get(uid)

    def waiting_on(self, node: str) -> list[Reservation]:
        """Return the reservations that wait at Permit to be bound to ``node``."""
        return [reservation for reservation in self._waiting.values() if reservation.node == node]

    def all_waiting(self) -> list[Reservation]:
        return list(self._waiting.values())

    def __len__(self) -> int:
        return len(self._known)

    @property
    def waiting_count(self) -> int:
        """The number of pods that wait at Permit."""
        return len(self._waiting)

    @property
    def held_count(self) -> int:
        """The number of waiting pods whose wait is ended outside."""
        return sum(reservation.is_held for reservation in self._waiting.values())

    def add(self, reservation: Reservation) -> None:
        self._known[reservation.uid] = self._waiting[reservation.uid] = reservation
        self.update_deadline(reservation)

    def enter_stage(self, reservation: Reservation, stage: Stage) -> None:
        """Move the pod on to ``stage``: it does not wait any more."""
        reservation.stage = stage
        self._waiting.pop(reservation.uid, None)

    def update_deadline(self, reservation: Reservation) -> None:
        """Note that the end of the pod's wait has changed."""
        deadline = reservation.binding.deadline
        if deadline is not None and deadline < math.inf:
            self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)

    def remove(self, uid: str) -> None:
        self._known.pop(uid, None)
        self._waiting.pop(uid, None)

    @property
    def next_deadline(self) -> float | None:
        """The latest time to look for ended waits; ``None`` if no wait ends by itself."""
        return self._deadline

    def list_overdue(self, now: float) -> list[Reservation]:
        """Return the reservations whose wait has ended by ``now``."""
        if self._deadline is None or self._deadline > now:
            return []
        ends = {
            reservation.uid: reservation.binding.deadline
            for reservation in self._waiting.values()
            if reservation.binding.deadline is not None
        }
        self._deadline = min((end for end in ends.values() if now < end < math.inf), default=None)
        return [self._known[uid] for uid, end in ends.items() if end <= now]
