from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class AutoscalingConfig(AppConfig):
    name = "kschedweb.advice.autoscaling"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        family = frozenset({"autoscaling-answer", "autoscaling-change", "autoscaling-groups"})
        navigation.register(
            Group.CLUSTER,
            Entry(_("Autoscaling"), "server", "autoscaling", 60, family),
        )
        navigation.choosing(
            (Choice.CLUSTER, Choice.SNAPSHOT), "autoscaling", "autoscaling-answer", "autoscaling-groups"
        )
        actions.register(
            PaletteAction(
                _("What would Karpenter do now?"), "server", "autoscaling", "nodepool consolidate node scale", place=36
            )
        )
        register(RetentionRule("autoscaling.Question", "created_at", "answers", ANSWERED))
