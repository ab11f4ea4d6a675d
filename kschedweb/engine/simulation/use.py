"""What pods really use while a simulation runs, and what is measured of it."""

from __future__ import annotations

from typing import Protocol

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.watermarks.table import Watermarks


class Use(Protocol):
    """Is told which pods run where, and measures what they use each ``interval`` seconds. Times are seconds."""

    interval: float

    def came(self, pod: Pod, now: float) -> None:
        """The pod runs on its node from now on."""

    def left(self, pod: Pod, now: float) -> None:
        """The pod does not run any more."""

    def measured(self, now: float) -> Watermarks:
        """What was measured by now; asked at 0 and then every ``interval``."""
