from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class RightSizingConfig(AppConfig):
    name = "kschedweb.advice.rightsizing"

    def ready(self) -> None:
        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.NAMESPACE), "right-sizing")
        navigation.declare_choices((BarChoice.CLUSTER,), "right-sizing-workload", "right-sizing-apply")
        words = "requests vertical pod autoscaler vpa limits waste oversized"
        actions.register_actions(
            PaletteAction(_("What should containers request?"), "target", "right-sizing", words, place=38)
        )
