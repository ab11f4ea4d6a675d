from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.translating import gettext_lazy as _


class CostsConfig(AppConfig):
    name = "kschedweb.advice.costs"

    def ready(self) -> None:
        navigation.register(Group.CLUSTER, Entry(_("Cost"), "scale", "costs", 60, stems=("cost",)))
        navigation.register_tabs(
            "costs", Entry(_("Costs"), "", "costs", 10), Entry(_("Prices"), "", "costs-prices", 20)
        )
        navigation.choosing((Choice.CLUSTER, Choice.SNAPSHOT), "costs")
        navigation.choosing((Choice.CLUSTER,), "costs-prices")
        actions.register(
            PaletteAction(_("What does the cluster cost?"), "scale", "costs", "money price bill idle", place=37),
            PaletteAction(_("Set prices of nodes"), "scale", "costs-prices", "money cost table"),
        )
