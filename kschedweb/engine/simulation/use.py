"""What pods really use while a simulation runs, and what is measured of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.scaling.load import Share
from kschedweb.engine.state.watermarks.table import Watermarks


class UseModel(Protocol):
    """Is told which pods run where, and measures what they use. Times are seconds."""

    @property
    def interval(self) -> float:
        """How long it is from what was measured last to what is measured next."""

    def came(self, pod: Pod, now: float) -> None:
        """The pod runs on its node from now on."""

    def left(self, pod: Pod, now: float) -> None:
        """The pod does not run any more."""

    def measured(self, now: float) -> Watermarks:
        """What was measured by now; asked at 0, and again after each ``interval``."""


@runtime_checkable
class InstantUse(UseModel, Protocol):
    """One whose figures depend on what runs, not on what ran before."""

    def copy(self) -> InstantUse:
        """One that is told of what follows on its own."""


@runtime_checkable
class SharedUse(UseModel, Protocol):
    """One that knows workloads whose load is divided among the pods that there are."""

    def share(self, workload: str, share: Share, pods: Sequence[Pod], now: float) -> None:
        """From now on all pods of the workload share what ``pods`` would use, or what ``share`` says."""

    def shared(self, workload: str, now: float) -> float:
        """The cores that the pods of a workload that shares would use together."""
