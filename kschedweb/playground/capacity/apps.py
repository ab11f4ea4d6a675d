from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class CapacityConfig(AppConfig):
    name = "kschedweb.playground.capacity"

    def ready(self) -> None:
        pages = ("capacity-fit", "capacity-nodes", "capacity-drain", "capacity-gangs", "capacity-buffer")
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.POLICY, BarChoice.SNAPSHOT), *pages)
        actions.register_actions(
            PaletteAction(_("How many more pods fit?"), "gauge", "capacity-fit", "capacity headroom", place=30),
            PaletteAction(_("How many nodes are needed?"), "server", "capacity-nodes", "capacity grow add"),
            PaletteAction(_("Rehearse a drain"), "gauge", "capacity-drain", "empty evict cordon maintenance", place=35),
        )
        actions.register_actions(
            PaletteAction(
                _("Does it survive the loss of a zone?"), "gauge", "capacity-buffer", "buffer zone failure spare"
            )
        )
