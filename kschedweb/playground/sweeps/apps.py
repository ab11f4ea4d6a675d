from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class SweepsConfig(AppConfig):
    name = "kschedweb.playground.sweeps"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.retention import IDLE

        navigation.register(navigation.PLAYGROUND, Entry("Sweep", "", "sweeps", 40, stems=("sweep",)))
        register(RetentionRule("sweeps.Sweep", "created_at", "work", IDLE))
