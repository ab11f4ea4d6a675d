"""``serve``: the whole site on this machine, as ``make run`` starts it from a checkout."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from typing import NoReturn

from kschedweb.cli.exits import CommandError
from kschedweb.cli.session import CliSession

# kschedweb/web/variables.py says what they mean; it needs Django, which is looked for here first.
OPTIONS = {
    "host": ("KSCHEDWEB_HOST", "ADDRESS", "the address to listen on (127.0.0.1)"),
    "port": ("KSCHEDWEB_PORT", "PORT", "the port to listen on (8000)"),
    "data": ("KSCHEDWEB_DATA_DIR", "FOLDER", "where its data lies (kschedweb in the user's data folder)"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    for name, (_, metavar, text) in OPTIONS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)


def run(options: argparse.Namespace, session: CliSession) -> NoReturn:
    """Become the process of the site. Raise CommandError if its packages are not installed."""
    if find_spec("django") is None:
        raise CommandError("the site needs more packages: pip install 'kschedweb[site]'")
    environment = {variable: getattr(options, name) for name, (variable, _, _) in OPTIONS.items()}
    os.environ.update({variable: value for variable, value in environment.items() if value is not None})
    # exec keeps the process id, so that signals and supervisors reach the site itself.
    os.execv(sys.executable, [sys.executable, "-m", "kschedweb.runner"])  # noqa: S606
