"""The real use of pods while a simulation runs, and its measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.scaling.load import Share
from kschedweb.engine.state.watermarks.table import Watermarks


class UseModel(Protocol):
    """Hears which pods run where, and measures what they use. Times are seconds."""

    @property
    def interval(self) -> float:
        """The time between measurements."""

    def add_pod(self, pod: Pod, now: float) -> None:
        """Take in that the pod runs on its node."""

    def remove_pod(self, pod: Pod, now: float) -> None:
        """Take in that the pod does not run any more."""

    def measured(self, now: float) -> Watermarks:
        """Return what was measured by now; called at 0, and again after each ``interval``."""


@runtime_checkable
class InstantUse(UseModel, Protocol):
    """A model whose figures depend on what runs, not on what ran before."""

    def copy(self) -> InstantUse:
        """Return a copy that hears of what follows on its own."""


@runtime_checkable
class SharedUse(UseModel, Protocol):
    """A model that divides the load of a workload among its present pods."""

    def share(self, workload: str, share: Share, pods: Sequence[Pod], now: float) -> None:
        """Let all pods of the workload share the use of ``pods`` from now on, or what ``share`` says."""

    def shared(self, workload: str, now: float) -> float:
        """Return the cores that the pods of a sharing workload would use together."""
