"""NodePorts: host ports that are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.engine.plugins.nodeports import HOST_PORTS_FACT
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class NodePortsPresenter(Presenter):
    short = {HOST_PORTS_FACT: _("has the host port taken")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        taken_ports = []
        for ip, protocol, port in pod.host_ports:
            used = snapshot.ports.get((protocol, port), {})
            if any(counts[node] and (ip == at or "0.0.0.0" in (ip, at)) for at, counts in used.items()):  # noqa: S104
                taken_ports.append(f"{port}/{protocol}")
        return VerdictReading(
            gettext("host port %(listed)s is taken on %(names)s by another pod")
            % {"listed": join_with_and(taken_ports), "names": snapshot.names[node]},
            gettext("leave out hostPort, or use another one"),
        )


PRESENTER = NodePortsPresenter("NodePorts")
