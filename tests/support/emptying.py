"""Empties the database after a test that committed, in a few milliseconds, and puts back what migrations made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.operations import BaseDatabaseOperations

UNTOUCHED = ("django_content_type", "auth_permission")  # hundreds of rows that only migrations write
Statement = tuple[str, list[tuple[Any, ...]]]  # how to insert into a table, and which rows


def keep_rows(connection: BaseDatabaseWrapper, patch: pytest.MonkeyPatch) -> None:
    """As long as ``patch`` lasts, every flush of this kind of database leaves the rows that stand in this one now.

    Django would truncate each table, which makes a file anew, and would save each row through its model.
    """
    rows = list(_statements(connection))

    def flush(self: BaseDatabaseOperations, truncations: Iterable[str]) -> None:
        with transaction.atomic(using=self.connection.alias), self.connection.cursor() as cursor:
            for statement in _deletions(self.connection):
                cursor.execute(statement)
            for insert, values in rows:
                cursor.executemany(insert, values)

    patch.setattr(type(connection.ops), "execute_sql_flush", flush)
    # It makes Django believe that it restores rows itself, so that no flush makes permissions anew.
    patch.setattr(type(connection), "_test_serialized_contents", "[]", raising=False)


def _statements(connection: BaseDatabaseWrapper) -> Iterable[Statement]:
    with connection.cursor() as cursor:
        for table in _tables(connection):
            cursor.execute(f"SELECT * FROM {table}")
            if rows := cursor.fetchall():
                columns = [connection.ops.quote_name(column[0]) for column in cursor.description]
                marks = ", ".join(["%s"] * len(columns))
                yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows


def _tables(connection: BaseDatabaseWrapper) -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [connection.ops.quote_name(name) for name in names if name not in UNTOUCHED]


def _deletions(connection: BaseDatabaseWrapper) -> list[str]:
    """As a truncation does, they wait for whoever still writes. Foreign keys are deferred, so order is free."""
    tables = _tables(connection)
    deletions = [f"DELETE FROM {table}" for table in tables]
    return [f"LOCK TABLE {', '.join(tables)}", "; ".join(deletions)] if connection.vendor == "postgresql" else deletions
