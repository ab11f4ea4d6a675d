from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from kschedweb.scenarios.signals import ready_placed


class RunsConfig(AppConfig):
    name = "kschedweb.runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        ready_placed.connect(run_ready, dispatch_uid="run the ready scenarios")


def run_ready(**placed: Any) -> None:
    """Each ready scenario comes with its run."""
    from kschedweb.runs import ready

    ready.placed(**placed)
