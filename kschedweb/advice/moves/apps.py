from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class MovesConfig(AppConfig):
    name = "kschedweb.advice.moves"
    label = "descheduling"

    def ready(self) -> None:
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.POLICY, BarChoice.SNAPSHOT), "descheduling")
        words = "descheduler evict rebalance drain move"
        actions.register_actions(
            PaletteAction(_("What would the descheduler evict?"), "refresh-cw", "descheduling", words)
        )
