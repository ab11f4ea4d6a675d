from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class MovesConfig(AppConfig):
    name = "kschedweb.playground.migration"
    label = "moves"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        navigation.register(navigation.PLAYGROUND, Entry("Moves", "", "moves", 70, stems=("move",)))
        register(RetentionRule("moves.Question", "created_at", "answers", ANSWERED))
