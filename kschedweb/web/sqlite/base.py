"""The backend; see the package."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from threading import Lock
from typing import Any

from django.db.backends.sqlite3 import base

_making = Lock()


class DatabaseWrapper(base.DatabaseWrapper):
    """Restricts the file to its owner before SQLite opens it, because SQLite gives its other files the same mode."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        path = str(conn_params["database"])
        if not self.is_in_memory_db() and not path.startswith("file:"):
            keep_to_owner(path)
        return super().get_new_connection(conn_params)


def keep_to_owner(path: str) -> None:
    """Create ``path`` with mode 0600, and remove the rights of others from an existing file.

    An existing file is never opened: closing it would release every lock that SQLite holds on it in this process, and
    others could write at the same time.
    """
    # SQLite itself reports unusable paths.
    with _making, contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for file in (Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")):
        with contextlib.suppress(OSError):
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
