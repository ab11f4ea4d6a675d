"""See the package."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from threading import Lock
from typing import Any

from django.db.backends.sqlite3 import base

_making = Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    """The file is its owner's alone before SQLite opens it: SQLite gives the files beside it the same mode."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        path = str(conn_params["database"])
        if not self.is_in_memory_db() and not path.startswith("file:"):
            keep_to_owner(path)
        return super().get_new_connection(conn_params)


def keep_to_owner(path: str) -> None:
    """Make ``path`` with mode 0600, and take the rights of others from what an earlier release made.

    A file that is there already is never opened here: closing it again would end every lock that SQLite holds on it in
    this process, and others would write at the same time.
    """
    # SQLite itself says what is wrong with a path that cannot be used.
    with _making, contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for file in (Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")):
        with contextlib.suppress(OSError):
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
