from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class GateConfig(AppConfig):
    name = "kschedweb.playground.gate"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        navigation.register(navigation.MAIN, Entry("Releases", "history", "releases", 55))
        navigation.register(navigation.PLAYGROUND, Entry("Gate", "", "gate", 60, stems=("gate",)))
        register(RetentionRule("gate.Gate", "created_at", "answers", ANSWERED))
