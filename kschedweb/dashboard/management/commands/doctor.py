"""manage.py doctor: report problems of this deployment, with advice."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kschedweb.web.doctor import Level, run_examinations

SIGNS = {Level.OK: "ok  ", Level.WARNING: "warn", Level.FAILURE: "FAIL"}


class Command(BaseCommand):
    help = "Examine the deployment whose settings this process has; ends with 1 where something fails."
    # The command runs Django's checks itself, and adds advice.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object a finding and line")
        parser.add_argument("--strict", action="store_true", help="warnings count as failures")

    def handle(self, *args: Any, **options: Any) -> None:
        failing = {Level.FAILURE, Level.WARNING} if options["strict"] else {Level.FAILURE}
        failed = False
        for name, finding in run_examinations():
            failed |= finding.level in failing
            if options["json"]:
                row = {"about": name, "level": finding.level, "what": finding.message, "advice": finding.advice}
                self.stdout.write(json.dumps(row))
                continue
            self.stdout.write(f"{SIGNS[finding.level]} {name}: {finding.message}")
            if finding.advice:
                self.stdout.write(f"     {finding.advice}")
        if failed:
            sys.exit(1)
