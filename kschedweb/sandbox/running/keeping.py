"""The sandbox's objects on disk, as etcd keeps a cluster's: what was answered is not forgotten."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import structlog

from kschedweb.engine.sandbox.resources import RESOURCES
from kschedweb.engine.sandbox.schema import DecodeError, decode_stored
from kschedweb.engine.sandbox.store import Store, key_of
from kschedweb.web.sqlite.base import keep_to_owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kschedweb.engine.objects.access import Json
    from kschedweb.engine.sandbox.resources import Resource
    from kschedweb.engine.sandbox.store import Change

SCHEMA = """
CREATE TABLE IF NOT EXISTS object (resource TEXT, namespace TEXT, name TEXT, raw TEXT NOT NULL,
    PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS version (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS aside (resource TEXT, namespace TEXT, name TEXT, raw TEXT NOT NULL, reason TEXT NOT NULL);
"""
logger = structlog.get_logger(__name__)


class Keeper:
    """One file; used by one thread. Changes are kept at ``commit``, which whoever answers calls before the answer.

    All of it raises sqlite3.Error where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        keep_to_owner(str(path))
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.executescript(SCHEMA)
        except sqlite3.Error:
            self._file.close()
            raise
        self.changes: list[Change] = []  # that are not on disk yet

    def store(self) -> Store:
        """What was kept; empty at first. Its changes from now on are kept too."""
        row = self._file.execute("SELECT last FROM version").fetchone()
        found = Store(row[0] if row else 0)
        found.load(self._objects())
        found.listen(self.changes.append)
        return found

    def _objects(self) -> Iterator[tuple[Resource, Json]]:
        """The objects that a sandbox can live with; others are set aside, each with a line in the log."""
        known = {one.key: one for one in reversed(RESOURCES)}
        for key, namespace, name, text in self._file.execute("SELECT * FROM object").fetchall():
            if key not in known:
                continue
            try:
                raw = decode_stored(known[key], json.loads(text))
                if key_of(raw) != (namespace, name):
                    raise DecodeError("its name is another one")
            except (ValueError, RecursionError) as error:
                self._set_aside((key, namespace, name), text, str(error))
            else:
                yield known[key], raw

    def _set_aside(self, place: tuple[str, str, str], text: str, reason: str) -> None:
        with self._file:
            self._file.execute("BEGIN")
            self._file.execute("INSERT INTO aside VALUES (?, ?, ?, ?, ?)", (*place, text, reason))
            self._file.execute("DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?", place)
        logger.warning("sandbox_object_set_aside", object="/".join(filter(None, place)), reason=reason)

    def commit(self) -> None:
        """Keep what has changed, all or nothing."""
        if not self.changes:
            return
        last = {(one.resource.key, *key_of(one.last)): one.new for one in self.changes}
        gone = [key for key, new in last.items() if new is None]
        there = [(*key, json.dumps(new, separators=(",", ":"))) for key, new in last.items() if new is not None]
        with self._file:
            run = self._file
            run.execute("BEGIN")
            run.executemany("DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?", gone)
            run.executemany("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", there)
            run.execute("INSERT OR REPLACE INTO version VALUES (1, ?)", (self.changes[-1].version,))
        self.changes.clear()

    def close(self) -> None:
        self._file.close()
