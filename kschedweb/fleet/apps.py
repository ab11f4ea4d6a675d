from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, searching
from kschedweb.web.actions import PaletteAction
from kschedweb.web.translating import gettext_lazy as _


class FleetConfig(AppConfig):
    name = "kschedweb.fleet"

    def ready(self) -> None:
        from kschedweb.fleet.searches import search_elsewhere

        searching.register_group(_("Pods of other clusters"), 60, search_elsewhere)
        actions.register_actions(
            PaletteAction(_("Compare a policy over many clusters"), "layers", "fleet-trials", "fleet try", place=38),
            PaletteAction(_("Find a pod or node in all clusters"), "search", "fleet-search", "fleet everywhere"),
        )
