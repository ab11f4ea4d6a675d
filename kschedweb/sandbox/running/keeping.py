"""The sandbox's objects on disk, as etcd keeps a cluster's: what was answered is not forgotten."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from kschedweb.engine.sandbox.resources import RESOURCES
from kschedweb.engine.sandbox.store import Store, key_of
from kschedweb.web.sqlite.base import keep_to_owner

if TYPE_CHECKING:
    from pathlib import Path

    from kschedweb.engine.objects.access import Json
    from kschedweb.engine.sandbox.resources import Resource
    from kschedweb.engine.sandbox.store import Change

SCHEMA = """
CREATE TABLE IF NOT EXISTS object (resource TEXT, namespace TEXT, name TEXT, raw TEXT NOT NULL,
    PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS version (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL);
"""


class Keeper:
    """One file; used by one thread. Changes are kept at ``commit``, which whoever answers calls before the answer."""

    def __init__(self, path: Path) -> None:
        keep_to_owner(str(path))
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.executescript(SCHEMA)
        self._changes: list[Change] = []

    def store(self) -> Store:
        """What was kept; empty at first. Its changes from now on are kept too."""
        row = self._file.execute("SELECT last FROM version").fetchone()
        found = Store(row[0] if row else 0)
        found.load(self._rows())
        found.listen(self._changes.append)
        return found

    def _rows(self) -> list[tuple[Resource, Json]]:
        known = {one.key: one for one in reversed(RESOURCES)}
        rows = self._file.execute("SELECT resource, raw FROM object")
        return [(known[key], json.loads(raw)) for key, raw in rows if key in known]

    def commit(self) -> None:
        """Keep what has changed, all or nothing."""
        if not self._changes:
            return
        last = {(one.resource.key, *key_of(one.last)): one.new for one in self._changes}
        gone = [key for key, new in last.items() if new is None]
        there = [(*key, json.dumps(new, separators=(",", ":"))) for key, new in last.items() if new is not None]
        run = self._file
        run.execute("BEGIN")
        try:
            run.executemany("DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?", gone)
            run.executemany("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", there)
            run.execute("INSERT OR REPLACE INTO version VALUES (1, ?)", (self._changes[-1].version,))
            run.execute("COMMIT")
        except BaseException:
            run.execute("ROLLBACK")
            raise
        self._changes.clear()

    def close(self) -> None:
        self._file.close()
