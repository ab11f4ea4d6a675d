"""One that acts in a simulation beside the scheduler, such as an autoscaler, a descheduler or quotas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.agenda import Action
from kschedweb.engine.simulation.events import SimulationEvent
from kschedweb.engine.simulation.pod_life import PodLife

# Returns what an event does once its time has come; called when the event is entered.
Handler = Callable[[Any], Action]


class Actor:
    """An actor of one simulation. It hears of pods as things happen, and does nothing with it; times are seconds.

    What it did it reports to the observer (``Observer.reported``).
    """

    # False for an actor whose pods come by events alone, so that the moves of a run tell everything of its tries.
    creates_pods = False

    @property
    def handlers(self) -> Mapping[type[SimulationEvent], Handler]:
        """The events that it brings."""
        return {}

    def begin(self) -> None:
        """Begin to act: all events are on the agenda, so those of the same time come first."""

    def list_notes(self) -> list[str]:
        """Return what a reader of the result must know about it."""
        return []

    # The end of a simulation that runs until nothing more happens.

    @property
    def is_watching(self) -> bool:
        """True if it may change a cluster in which nothing else happens."""
        return False

    def await_rest(self, last_event: float) -> None:
        """Hear that the simulation ends once nothing more happens after ``last_event``."""

    def is_awaited(self, since: float) -> bool:
        """Return true if the simulation must go on for it, although nothing changed after ``since``."""
        return False

    # Pods that come.

    def admit_object(self, raw: Json) -> Json:
        """Return the pod as the actor's webhook makes it; raise AdmissionError for one that it refuses."""
        return raw

    def hold_pod(self, pod: Pod, let_in: Action, now: float, *, checked: bool) -> bool:
        """Return true to keep the pod out; ``let_in`` is called when it may come.

        ``checked`` means that the pod is one of a cluster that let it in already.
        """
        return False

    def withdraw_pod(self, key: str) -> bool:
        """Give up a pod that is not wanted any more; return true if it was held."""
        return False

    # Pods that are there.

    def on_initial_pod(self, pod: Pod) -> None:
        """Hear of a pod that is on its node at the beginning."""

    def on_pod_added(self, life: PodLife, now: float) -> None:
        """Hear that a pod exists now; ``life.pod`` may be replaced, as by a webhook, before anybody else sees it."""

    def on_unplaced(self, life: PodLife, now: float) -> None:
        """Hear that a pod was tried in vain."""

    def on_moved(self, life: PodLife, now: float) -> None:
        """Hear that a pod came to its node, or begins to leave it."""

    def startup_seconds(self, life: PodLife) -> float:
        """Return how long the pod, which is on its node now, takes to be ready."""
        return 0.0

    def on_pod_ready(self, life: PodLife, now: float) -> None:
        """Hear that the pod does its work from now on."""

    def on_pod_overdue(self, life: PodLife, now: float) -> None:
        """Hear that a pod is beyond its grace period, and cannot be ended since its node is silent."""

    def on_pod_removed(self, life: PodLife, now: float) -> None:
        """Hear that a pod does not exist any more; ``life.bound`` tells whether it was on a node."""
