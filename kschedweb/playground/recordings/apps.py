from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class RecordingsConfig(AppConfig):
    name = "kschedweb.playground.recordings"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Imported here because models cannot be imported before the registry of apps is ready.
        from kschedweb.jobs.retention import IDLE

        navigation.register_entries(
            RailGroup.WHAT_IF, Entry(_("Recordings"), "video", "recordings", 50, stems=("recording",))
        )
        register_rules(RetentionRule("recordings.Recording", "created_at", "work", IDLE))
