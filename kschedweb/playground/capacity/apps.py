from __future__ import annotations

from django.apps import AppConfig

from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class CapacityConfig(AppConfig):
    name = "kschedweb.playground.capacity"

    def ready(self) -> None:
        from kschedweb.jobs.retention import ANSWERED

        navigation.register(navigation.PLAYGROUND, Entry("Capacity", "", "capacity-fit", 50, stems=("capacity",)))
        navigation.scoped("capacity-fit", "capacity-nodes", "capacity-drain", "capacity-gangs")
        register(RetentionRule("capacity.Question", "created_at", "answers", ANSWERED))
