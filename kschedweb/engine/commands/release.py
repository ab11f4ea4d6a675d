"""Options that name a release of kube-scheduler."""

from __future__ import annotations

import argparse

from kschedweb.build import RELEASES
from kschedweb.engine.commands.lines import InputError
from kschedweb.engine.config import Release
from kschedweb.engine.releases import ReleaseError, files, get_release, read_gates


def configure_release(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--release", help=f"the release of kube-scheduler: {', '.join(RELEASES)}")
    parser.add_argument("--feature-gates", default="", help="as kube-scheduler's: Name=true,Other=false")
    files.add_file_option(parser)


def read_release(options: argparse.Namespace) -> Release:
    """The release that is asked for. Raises InputError."""
    try:
        return get_release(options.release or "", read_gates(options.feature_gates), files.read_files(options.file))
    except ReleaseError as error:
        raise InputError(str(error)) from None
