from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web.retention import RetentionRule, register_rules


class RecordingsConfig(AppConfig):
    name = "kschedweb.playground.recordings"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Imported here because models cannot be imported before the registry of apps is ready.
        from kschedweb.jobs.examples import SiteExample, register_example
        from kschedweb.jobs.retention import IDLE

        register_example(
            SiteExample(
                "recording",
                "kschedweb.playground.recordings.example.recording_example",
                place=60,
                is_possible="kschedweb.playground.recordings.example.sandbox_has",
            )
        )
        register_rules(RetentionRule("recordings.Recording", "created_at", "work", IDLE))
