from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web.retention import RetentionRule, register_rules


class MovesConfig(AppConfig):
    name = "kschedweb.playground.migration"
    # The label is part of the names of tables; it stays though the pages are called migration.
    label = "moves"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        register_rules(RetentionRule("moves.Question", "created_at", "answers", ANSWERED))
