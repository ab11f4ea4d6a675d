"""NodeUnschedulable: cordoned nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import Reading
from kschedweb.engine.plugins.nodeunschedulable import CORDON

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Cordoned(Presenter):
    short = {CORDON: "is cordoned"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        name = snapshot.names[node]
        return Reading(f"{name} is cordoned (spec.unschedulable is true)", f"kubectl uncordon {name} would do")


PRESENTER = Cordoned("NodeUnschedulable")
