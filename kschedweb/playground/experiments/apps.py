from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web.retention import RetentionRule, register_rules


class ExperimentsConfig(AppConfig):
    name = "kschedweb.playground.experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.examples import SiteExample, register_example
        from kschedweb.jobs.retention import IDLE

        register_example(
            SiteExample("experiment", "kschedweb.playground.experiments.example.experiment_example", place=40)
        )
        register_rules(RetentionRule("experiments.Experiment", "created_at", "work", IDLE))
