from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models import Q

from kschedweb.playground.scenarios.signals import ready_placed
from kschedweb.web import navigation
from kschedweb.web.navigation import Entry
from kschedweb.web.retention import RetentionRule, register


class RunsConfig(AppConfig):
    name = "kschedweb.playground.runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from kschedweb.jobs.models import UNFINISHED
        from kschedweb.jobs.retention import IDLE

        ready_placed.connect(run_ready, dispatch_uid="run the ready scenarios")
        navigation.register(
            navigation.PLAYGROUND,
            Entry("Runs", "", "runs", 20, stems=("run",)),
            Entry("Compare", "", "comparisons", 30, stems=("comparison",)),
        )
        register(
            RetentionRule("runs.Comparison", "created_at", "work", ~Q(runs__job__state__in=UNFINISHED)),
            RetentionRule("runs.Run", "created_at", "work", Q(comparison=None) & IDLE),
        )


def run_ready(**placed: Any) -> None:
    """Each ready scenario comes with its run."""
    from kschedweb.playground.runs import ready

    ready.placed(**placed)
