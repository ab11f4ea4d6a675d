from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class JobsConfig(AppConfig):
    name = "kschedweb.jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        navigation.register(navigation.MAIN, Entry("Jobs", "list-checks", "jobs", 100, frozenset({"job"})))
        register(
            RetentionRule("jobs.Job", "ended_at", "jobs"),
            RetentionRule("jobs.IdempotencyKey", "created_at", timedelta(days=1)),
        )
