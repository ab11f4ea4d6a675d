from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry, RailGroup
from kschedweb.web.retention import RetentionRule, register_rules
from kschedweb.web.translating import gettext_lazy as _


class MovesConfig(AppConfig):
    name = "kschedweb.playground.migration"
    # The label is part of the names of tables; it stays though the pages are called migration.
    label = "moves"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        navigation.register_entries(
            RailGroup.POLICIES, Entry(_("Classic migration"), "arrow-right-left", "migration", 30)
        )
        answer = frozenset({"migration-answer"})
        navigation.register_tabs("migration", Entry(_("Pods that would move"), "", "migration", 10, answer))
        register_rules(RetentionRule("moves.Question", "created_at", "answers", ANSWERED))
