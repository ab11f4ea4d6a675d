"""NodePorts: host ports that are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.plugins.nodeports import TAKEN
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Ports(Presenter):
    short = {TAKEN: _("has the host port taken")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        taken = []
        for ip, protocol, port in pod.host_ports:
            used = snapshot.ports.get((protocol, port), {})
            if any(counts[node] and (ip == at or "0.0.0.0" in (ip, at)) for at, counts in used.items()):  # noqa: S104
                taken.append(f"{port}/{protocol}")
        return Reading(
            gettext("host port %(listed)s is taken on %(names)s by another pod")
            % {"listed": listed(taken), "names": snapshot.names[node]},
            gettext("leave out hostPort, or use another one"),
        )


PRESENTER = Ports("NodePorts")
