from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class MovesConfig(AppConfig):
    name = "kschedweb.advice.moves"
    label = "descheduling"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        page = Entry(_("Moves"), "refresh-cw", "descheduling", 60, family=frozenset({"descheduling-answer"}))
        navigation.register(Group.WHAT_IF, page)
        navigation.choosing((Choice.CLUSTER, Choice.POLICY, Choice.SNAPSHOT), "descheduling")
        words = "descheduler evict rebalance drain move"
        actions.register(PaletteAction(_("What would the descheduler evict?"), "refresh-cw", "descheduling", words))
        register(RetentionRule("descheduling.Question", "created_at", "answers", ANSWERED))
