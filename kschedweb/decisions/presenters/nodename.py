"""NodeName: the node in the pod's spec.nodeName."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.plugins.nodename import ANOTHER
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class NodeNamePresenter(Presenter):
    short = {ANOTHER: _("is not the one the pod names")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        return VerdictReading(
            gettext("the pod names %(node_name)s in spec.nodeName, not %(names)s")
            % {"node_name": pod.node_name, "names": snapshot.names[node]}
        )


PRESENTER = NodeNamePresenter("NodeName")
