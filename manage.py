#!/usr/bin/env python
"""Django's command line for kschedweb."""

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line

from kschedweb.build import describe_product
from kschedweb.web import env

if __name__ == "__main__":
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would tell its own.
        sys.stdout.write(describe_product() + "\n")
        sys.exit()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    with env.one_line_errors():
        _ = settings.DEBUG  # Reads the settings now: Django hides a wrong one from some commands.
        execute_from_command_line(sys.argv)
