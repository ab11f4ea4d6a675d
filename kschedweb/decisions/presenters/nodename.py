"""NodeName: the node in the pod's spec.nodeName."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import Reading
from kschedweb.engine.plugins.nodename import ANOTHER

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Named(Presenter):
    short = {ANOTHER: "is not the one the pod names"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        return Reading(f"names {pod.node_name} in spec.nodeName, not {snapshot.names[node]}")


PRESENTER = Named("NodeName")
