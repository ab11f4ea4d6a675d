"""The content of a new data folder: the tables, the demo, and the ready scenarios with their runs.

Copying all that takes a hundredth of the time that making it does. So the first start of a checkout keeps a copy, and a
wheel brings one along, with the examples (jobs/examples.py) finished. It holds no person and no secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from kschedweb.build import FILES

FOLDER = FILES / "firstdata"
PACKAGE = Path(__file__).parent
SOURCES = (
    "**/migrations/*.py",
    "**/example.py",
    "**/examples.py",
    "clusters/demo*.py",
    "watermarks/demo.py",
    "playground/scenarios/ready/**/*.yaml",
)
"""The files of the package that a copy is made from; their checksum is its name."""


def copy_first_data(database: Path) -> bool:
    """Copy the kept one where there is no ``database`` yet. True if there is none, so that it has to be made."""
    if database.exists():
        return False
    if not (copy := _copy_path()).exists():
        return True
    with _finish_file(database) as unfinished:
        unfinished.write_bytes(copy.read_bytes())
    return False


def keep_copy(database: Path) -> None:
    """Keep a copy of ``database``, into which nobody has written yet; where that cannot be, nothing happens."""
    with contextlib.suppress(OSError):
        FOLDER.mkdir(exist_ok=True)
        with (
            _finish_file(_copy_path()) as unfinished,
            contextlib.closing(sqlite3.connect(database)) as source,
            contextlib.closing(sqlite3.connect(unfinished)) as target,
        ):
            source.backup(target)


def _copy_path() -> Path:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in PACKAGE.glob(pattern)):
        digest.update(path.read_bytes())
    return FOLDER / f"{digest.hexdigest()[:16]}.sqlite3"


@contextlib.contextmanager
def _finish_file(path: Path) -> Iterator[Path]:
    """A file beside ``path`` that gets its name once it is whole."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.chmod(0o600)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)
