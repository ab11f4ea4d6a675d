from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class FleetConfig(AppConfig):
    name = "kschedweb.fleet"

    def ready(self) -> None:
        from kschedweb.fleet.searches import elsewhere
        from kschedweb.jobs.retention import ANSWERED

        navigation.register(Group.CLUSTER, Entry(_("Fleet"), "layers", "fleet", 5, stems=("fleet",)))
        searching.register(_("Pods of other clusters"), 60, elsewhere)
        actions.register(
            PaletteAction(_("Compare a policy over many clusters"), "layers", "fleet-trials", "fleet try", place=38),
            PaletteAction(_("Find a pod or node in all clusters"), "search", "fleet-search", "fleet everywhere"),
        )
        register(RetentionRule("fleet.FleetTrial", "created_at", "answers", ANSWERED))
