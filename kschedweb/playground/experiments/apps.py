from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web.retention import RetentionRule, register_rules


class ExperimentsConfig(AppConfig):
    name = "kschedweb.playground.experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.retention import IDLE

        register_rules(RetentionRule("experiments.Experiment", "created_at", "work", IDLE))
