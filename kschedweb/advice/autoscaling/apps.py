from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class AutoscalingConfig(AppConfig):
    name = "kschedweb.advice.autoscaling"

    def ready(self) -> None:
        navigation.declare_choices(
            (BarChoice.CLUSTER, BarChoice.SNAPSHOT), "autoscaling", "autoscaling-answer", "autoscaling-groups"
        )
        actions.register_actions(
            PaletteAction(
                _("What would Karpenter do now?"), "server", "autoscaling", "nodepool consolidate node scale", place=36
            )
        )
