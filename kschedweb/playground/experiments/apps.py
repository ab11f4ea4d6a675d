from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class ExperimentsConfig(AppConfig):
    name = "kschedweb.playground.experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.retention import IDLE

        navigation.register(navigation.PLAYGROUND, Entry("Experiments", "", "experiments", 80, stems=("experiment",)))
        register(RetentionRule("experiments.Experiment", "created_at", "work", IDLE))
