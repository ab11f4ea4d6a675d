from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class GateConfig(AppConfig):
    name = "kschedweb.playground.gate"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        navigation.register(Group.POLICIES, Entry(_("Releases"), "history", "releases", 40))
        navigation.register(Group.WHAT_IF, Entry(_("CI gate"), "circle-check", "gate", 40, stems=("gate",)))
        navigation.choosing((Choice.CLUSTER,), "releases")
        actions.register(
            PaletteAction(_("Check a policy in the gate"), "check", "gate", "ci pipeline threshold"),
        )
        register(RetentionRule("gate.Gate", "created_at", "answers", ANSWERED))
