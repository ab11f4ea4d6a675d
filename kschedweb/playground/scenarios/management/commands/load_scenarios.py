"""The command load_scenarios, which loads or updates the ready scenarios."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from kschedweb.playground.scenarios.ready_install import ready_place


class Command(BaseCommand):
    help = "Put the ready scenarios in place, or bring them up to date."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{len(ready_place())} ready scenarios are there.")
