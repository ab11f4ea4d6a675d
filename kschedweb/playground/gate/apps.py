from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import BarChoice
from kschedweb.web.translating import gettext_lazy as _


class GateConfig(AppConfig):
    name = "kschedweb.playground.gate"

    def ready(self) -> None:
        # Imported here because models cannot be imported before the registry of apps is ready.
        from kschedweb.jobs.examples import SiteExample, register_example

        navigation.declare_choices((BarChoice.CLUSTER,), "releases")
        actions.register_actions(
            PaletteAction(_("Check a policy in the gate"), "check", "gate", "ci pipeline threshold"),
        )
        register_example(SiteExample("verdict", "kschedweb.playground.gate.example.gate_example", place=30))
