from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions
from kschedweb.web.actions import PaletteAction
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class SweepsConfig(AppConfig):
    name = "kschedweb.playground.sweeps"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Imported here because models cannot be imported before the registry of apps is ready.
        from kschedweb.jobs.examples import SiteExample, register_example
        from kschedweb.jobs.retention import IDLE

        actions.register_actions(
            PaletteAction(_("Tune weights"), "sliders-horizontal", "sweep-new", "sweep optimise", action="edit"),
        )
        register_example(SiteExample("sweep", "kschedweb.playground.sweeps.example.sweep_example", place=50))
        # Retention counts from the creation of a sweep, since a sweep has no other timestamp.
        register_rules(RetentionRule("sweeps.Sweep", "created_at", "work", IDLE))
