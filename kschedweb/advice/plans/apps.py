from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Choice, Entry, Group
from kschedweb.web.retention import RetentionRule, register
from kschedweb.web.translating import gettext_lazy as _


class PlansConfig(AppConfig):
    name = "kschedweb.advice.plans"
    label = "plans"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        page = Entry(_("Plan moves"), "arrow-right-left", "plans", 61, family=frozenset({"plans-answer"}))
        navigation.register(Group.WHAT_IF, page)
        navigation.choosing((Choice.CLUSTER, Choice.POLICY, Choice.SNAPSHOT), "plans")
        words = "evict rebalance free nodes skew money fragments planner"
        actions.register(PaletteAction(_("Which pods should move?"), "arrow-right-left", "plans", words))
        register(RetentionRule("plans.Question", "created_at", "answers", ANSWERED))
