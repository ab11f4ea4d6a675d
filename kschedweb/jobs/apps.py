from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig

from kschedweb.web import doctor, navigation
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class JobsConfig(AppConfig):
    name = "kschedweb.jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.doctor_checks import beat_examine, queue_examine, workers_examine

        doctor.register_examination("workers", workers_examine)
        doctor.register_examination("beat", beat_examine)
        doctor.register_examination("jobs", queue_examine)
        navigation.register_entries(RailGroup.ADMIN, Entry(_("Jobs"), "list-checks", "jobs", 50, frozenset({"job"})))
        register_rules(
            RetentionRule("jobs.Job", "ended_at", "jobs"),
            RetentionRule("jobs.IdempotencyKey", "created_at", timedelta(days=1)),
        )
