"""The option ``--file`` of the command line: files that arguments of plugins point at, read here and passed on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kschedweb.engine.releases import ReleaseError

HELP = "a file that arguments point at, such as policyConfigPath: PATH as they write it=where it is; may be repeated"


def add_file_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", action="append", default=[], metavar="PATH=FILE", help=HELP)


def read_files(options: Sequence[str]) -> dict[str, str]:
    """Return the text of each file by the path that arguments name. Raises ReleaseError."""
    texts = {}
    for option in options:
        path, _, file = option.rpartition("=")
        if not path or not file:
            raise ReleaseError(f"--file {option}: must be PATH=FILE, such as /etc/kubernetes/policy.yaml=policy.yaml")
        try:
            texts[path] = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not text in UTF-8"
            raise ReleaseError(f"--file {option}: cannot be read: {reason}") from None
    return texts
