"""NodeUnschedulable: cordoned nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.plugins.nodeunschedulable import CORDON
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class UnschedulablePresenter(Presenter):
    short = {CORDON: _("is cordoned")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        name = snapshot.names[node]
        return VerdictReading(
            gettext("%(name)s is cordoned (spec.unschedulable is true)") % {"name": name},
            gettext("run kubectl uncordon %(name)s") % {"name": name},
        )


PRESENTER = UnschedulablePresenter("NodeUnschedulable")
