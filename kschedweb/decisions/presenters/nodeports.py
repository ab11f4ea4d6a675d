"""NodePorts: host ports that are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.plugins.nodeports import TAKEN

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Ports(Presenter):
    short = {TAKEN: "has the host port taken"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        taken = []
        for ip, protocol, port in pod.host_ports:
            used = snapshot.ports.get((protocol, port), {})
            if any(counts[node] and (ip == at or "0.0.0.0" in (ip, at)) for at, counts in used.items()):  # noqa: S104
                taken.append(f"{port}/{protocol}")
        return Reading(
            f"host port {listed(taken)} is taken on {snapshot.names[node]} by another pod",
            "without hostPort, or with another one, it would fit",
        )


PRESENTER = Ports("NodePorts")
