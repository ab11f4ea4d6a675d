from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class RecordingsConfig(AppConfig):
    name = "kschedweb.playground.recordings"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.retention import IDLE

        navigation.register(navigation.PLAYGROUND, Entry("Recordings", "", "recordings", 90, stems=("recording",)))
        register(RetentionRule("recordings.Recording", "created_at", "work", IDLE))
