from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import actions, navigation
from kschedweb.web.actions import PaletteAction
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class SweepsConfig(AppConfig):
    name = "kschedweb.playground.sweeps"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Imported here because models cannot be imported before the registry of apps is ready.
        from kschedweb.jobs.retention import IDLE

        navigation.register_entries(RailGroup.WHAT_IF, Entry(_("Optimise"), "target", "sweeps", 30, stems=("sweep",)))
        actions.register_actions(
            PaletteAction(
                _("Optimise a policy"), "sliders-horizontal", "sweep-new", "sweep weights tune", action="edit"
            ),
        )
        # Retention counts from the creation of a sweep, since a sweep has no other timestamp.
        register_rules(RetentionRule("sweeps.Sweep", "created_at", "work", IDLE))
