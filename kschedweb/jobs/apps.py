from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig, apps

from kschedweb.web import doctor
from kschedweb.web.retention import RetentionRule, register_rules


class JobsConfig(AppConfig):
    name = "kschedweb.jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.doctor_checks import beat_examine, queue_examine, workers_examine
        from kschedweb.jobs.models import Inquiry
        from kschedweb.jobs.retention import ANSWERED

        doctor.register_examination("workers", workers_examine)
        doctor.register_examination("beat", beat_examine)
        doctor.register_examination("jobs", queue_examine)
        register_rules(
            RetentionRule("jobs.Job", "ended_at", "jobs"),
            RetentionRule("jobs.IdempotencyKey", "created_at", timedelta(days=1)),
            *(
                RetentionRule(model._meta.label, "created_at", "answers", ANSWERED)
                for model in apps.get_models()
                if issubclass(model, Inquiry)
            ),
        )
