from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class CapacityConfig(AppConfig):
    name = "kschedweb.playground.capacity"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        navigation.register(
            Group.CLUSTER, Entry(_("Capacity and drain"), "layers", "capacity-fit", 50, stems=("capacity",))
        )
        pages = ("capacity-fit", "capacity-nodes", "capacity-drain", "capacity-gangs", "capacity-buffer")
        navigation.choosing((Choice.CLUSTER, Choice.POLICY, Choice.SNAPSHOT), *pages)
        actions.register(
            PaletteAction(_("How many more pods fit?"), "gauge", "capacity-fit", "capacity headroom", place=30),
            PaletteAction(_("How many nodes are needed?"), "server", "capacity-nodes", "capacity grow add"),
            PaletteAction(_("Rehearse a drain"), "gauge", "capacity-drain", "empty evict cordon maintenance", place=35),
        )
        actions.register(
            PaletteAction(
                _("Does it survive the loss of a zone?"), "gauge", "capacity-buffer", "buffer zone failure spare"
            )
        )
        register(RetentionRule("capacity.Question", "created_at", "answers", ANSWERED))
