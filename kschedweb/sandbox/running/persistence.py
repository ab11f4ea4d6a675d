"""The sandbox's objects on disk, as etcd keeps a cluster's: an answered change is not forgotten."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import structlog

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import RESOURCES
from kschedweb.engine.sandbox.schema import DecodeError, decode_stored
from kschedweb.engine.sandbox.store import Store, get_object_key
from kschedweb.web.sqlite.base import keep_to_owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kschedweb.engine.sandbox.resources import Resource
    from kschedweb.engine.sandbox.store import StoreChange

SCHEMA = """
CREATE TABLE IF NOT EXISTS object (resource TEXT, namespace TEXT, name TEXT, raw TEXT NOT NULL,
    PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS version (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS aside (resource TEXT, namespace TEXT, name TEXT, raw TEXT NOT NULL, reason TEXT NOT NULL);
"""
logger = structlog.get_logger(__name__)


class Keeper:
    """One file, used by one thread. Changes are kept at ``commit``, which must be called before the answer.

    All methods raise sqlite3.Error if the file cannot be read or written.
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
        # Changes that are not on disk yet.
        self.changes: list[StoreChange] = []

    def load_store(self) -> Store:
        """Return the stored objects; none at first. Later changes are kept, too."""
        row = self._file.execute("SELECT last FROM version").fetchone()
        store = Store(row[0] if row else 0)
        store.load_objects(self._load_objects())
        store.add_listener(self.changes.append)
        return store

    def _load_objects(self) -> Iterator[tuple[Resource, Json]]:
        """Yield the objects that a sandbox can use. Others are set aside, each with a line in the log."""
        resources_by_key = {resource.key: resource for resource in reversed(RESOURCES)}
        for key, namespace, name, text in self._file.execute("SELECT * FROM object").fetchall():
            if key not in resources_by_key:
                continue
            try:
                raw = decode_stored(resources_by_key[key], json.loads(text))
                if get_object_key(raw) != (namespace, name):
                    raise DecodeError("its name is another one")
            except (ValueError, RecursionError) as error:
                self._set_aside((key, namespace, name), text, str(error))
            else:
                yield resources_by_key[key], raw

    def _set_aside(self, place: tuple[str, str, str], text: str, reason: str) -> None:
        with self._file:
            self._file.execute("BEGIN")
            self._file.execute("INSERT INTO aside VALUES (?, ?, ?, ?, ?)", (*place, text, reason))
            self._file.execute("DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?", place)
        logger.warning("sandbox_object_set_aside", object="/".join(filter(None, place)), reason=reason)

    def commit(self) -> None:
        """Write the changes, all or none."""
        if not self.changes:
            return
        # Of several changes of one object, only the last counts.
        last = {(change.resource.key, *get_object_key(change.last)): change.new for change in self.changes}
        deleted = [key for key, new in last.items() if new is None]
        stored = [(*key, json.dumps(new, separators=(",", ":"))) for key, new in last.items() if new is not None]
        with self._file:
            run = self._file
            run.execute("BEGIN")
            run.executemany("DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?", deleted)
            run.executemany("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", stored)
            run.execute("INSERT OR REPLACE INTO version VALUES (1, ?)", (self.changes[-1].version,))
        self.changes.clear()

    def close(self) -> None:
        self._file.close()
