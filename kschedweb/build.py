"""The build that runs: the product's version, the commit that it was built from, and a mark of the operator's own."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from kschedweb import __version__

RELEASES = ("1.34", "1.35", "1.36", "1.37", "1.38 preview")
"""The releases of kube-scheduler that are answered for, the oldest first."""
COMMIT = re.compile(r"[0-9a-f]{7,64}")
COMMIT_DIGITS = 12  # digits of a commit
MAX_MARK_LENGTH = 100  # characters of a mark
CHECKOUT = Path(__file__).parents[1]
FILES = CHECKOUT if (CHECKOUT / "frontend").is_dir() else Path(__file__).parent / "built"
"""The folder of frontend/ and staticfiles/: the checkout, or where hatch_build.py lays them in a wheel."""


def data_folder(configured: str) -> Path:
    """The folder of the site's data: the one ``configured``, else a checkout's own, else one among the user's data."""
    if configured:
        return Path(configured)
    if FILES == CHECKOUT:
        return CHECKOUT / ".data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "kschedweb"


def describe_product() -> str:
    """One line: "kschedweb 0.1.0, kube-scheduler 1.36, 1.37, commit 0123456789ab, staging".

    What is unknown is left out.
    """
    parts = [f"kschedweb {__version__}", f"kube-scheduler {', '.join(RELEASES)}"]
    parts += [f"commit {commit_id[:COMMIT_DIGITS]}"] if (commit_id := build_commit()) else []
    return ", ".join([*parts, *filter(None, [build_mark()])])


def build_mark() -> str:
    """``KSCHEDWEB_BUILD``: a word or two by which an operator knows this build, on one line."""
    return " ".join(os.environ.get("KSCHEDWEB_BUILD", "").split())[:MAX_MARK_LENGTH]


def build_commit() -> str:
    """``KSCHEDWEB_COMMIT``, as an image has it; else that of the checkout. "" where neither says one."""
    configured = os.environ.get("KSCHEDWEB_COMMIT", "").strip().lower()
    return configured if COMMIT.fullmatch(configured) else _checked_out(CHECKOUT)


@cache
def _checked_out(checkout: Path) -> str:
    """The commit of a git checkout, be it the main one or another worktree; "" where there is none."""
    folder = checkout / ".git"
    try:
        if folder.is_file():
            folder = checkout / folder.read_text().removeprefix("gitdir:").strip()
        head = (folder / "HEAD").read_text().strip()
        shared = folder / "commondir"
        common = folder / shared.read_text().strip() if shared.is_file() else folder
        return head if COMMIT.fullmatch(head) else _read_reference(common, head.removeprefix("ref:").strip())
    except (OSError, UnicodeDecodeError):
        return ""


def _read_reference(folder: Path, name: str) -> str:
    """The commit of the reference ``name``. Raises OSError where nothing can be read."""
    if (loose := folder / name).is_file():
        return loose.read_text().strip()
    packed = (folder / "packed-refs").read_text().splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
