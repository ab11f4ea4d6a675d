"""The base of recorders of actors: each has its own type of reports and its own columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.simulation.pod_life import PodLife


class RecordedRun(Protocol):
    """The record of pods and nodes so far."""

    @property
    def nodes(self) -> Mapping[str, int]:
        """The position of each node that ever was, in order."""

    @property
    def latest_nodes(self) -> Mapping[str, Node]:
        """The last object of each node."""

    def row_of(self, life: PodLife) -> int:
        """Return the row of a pod."""

    def key_of(self, life: PodLife) -> str:
        """Return the key that a pod and its replacements share."""


class ActorRecorder:
    """Records what actors of one kind report in a run; ``setup`` is the scenario's, None if it has none."""

    # Types of reports that it records.
    reports: ClassVar[tuple[type, ...]] = ()
    # Types of its records of columns by name. Columns without a field of `RunOutcome` are such records.
    records: ClassVar[Mapping[str, type]] = {}

    def __init__(self, setup: ActorSetup | None) -> None:
        self.setup = setup

    def begin(self, scheduler: Scheduler) -> None:
        """Begin to record a run with this scheduler."""

    def add_report(self, report: Any, now: float, run: RecordedRun) -> None:
        """Record a report of one of the types ``reports``."""

    def on_decided(self, pod: Pod, key: str, node: str) -> None:
        """Hear the scheduler's decision, "" for no node, before anything of it happens; ``key`` as of ``key_of``."""

    def build_columns(self, run: RecordedRun) -> dict[str, Any]:
        """Return the columns by their name in an outcome."""
        return {}
