"""manage.py load_demo: creates the demo cluster if it does not exist."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kschedweb.clusters import demo
from kschedweb.clusters.services import demo_load
from kschedweb.web.errors import ApplicationError


class Command(BaseCommand):
    help = "Load the demo cluster, unless it is there already."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default="demo", help="the cluster's name (default: demo)")
        parser.add_argument("--seed", type=int, default=demo.SEED, help="the same seed gives the same cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cluster = demo_load(name=options["name"], seed=options["seed"])
        except ApplicationError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"Cluster {cluster.name} is there.")
