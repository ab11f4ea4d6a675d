"""Slow preparations are made once in a run: pytest-xdist's processes share them."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

VARIABLE = "TESTS_SHARED_FOLDER"


def share() -> str:
    """Make the folder of this run, which goes with this process, and which those that it starts from now on share."""
    folder = tempfile.mkdtemp(prefix="kschedweb-shared-")
    # PostgreSQL does not run as root and has its files here.
    Path(folder).chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[VARIABLE] = folder
    return folder


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The folder ``name``, which ``make`` has filled, in this process or in another one."""
    folder = shared_folder() / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            new = folder.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(new)
            new.rename(folder)
    return folder


def made(name: str) -> bool:
    """Return whether the folder ``name`` of this run is there already."""
    return (shared_folder() / name).exists()


def shared_folder() -> Path:
    """The folder of this run, made where no process has made one."""
    return Path(os.environ.get(VARIABLE) or share())
