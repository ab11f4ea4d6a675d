from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class PlansConfig(AppConfig):
    name = "kschedweb.advice.plans"
    label = "plans"

    def ready(self) -> None:
        from kschedweb.jobs.examples import SiteExample, register_example

        navigation.declare_choices((BarChoice.CLUSTER, BarChoice.POLICY, BarChoice.SNAPSHOT), "plans")
        words = "evict rebalance free nodes skew money fragments planner"
        actions.register_actions(PaletteAction(_("Which pods should move?"), "arrow-right-left", "plans", words))
        register_example(SiteExample("plan", "kschedweb.advice.plans.example.plan_example", place=10))
