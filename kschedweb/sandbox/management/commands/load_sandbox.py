"""manage.py load_sandbox: makes the sandbox a cluster of this site, with schedulers that work in it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kschedweb.sandbox.services import sandbox_load
from kschedweb.web.errors import ApplicationError


class Command(BaseCommand):
    help = "Connect the sandbox, unless that was done already."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--site", default="", help="the address of this site, for the sandbox's kube-scheduler")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cluster = sandbox_load(site=options["site"])
        except ApplicationError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"Cluster {cluster.name} is there.")
