"""Database errors that mean that it is away, and the answers then; tests/live/test_outages_live.py has the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import DatabaseError, connections
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test import RequestFactory

from kschedweb.web import problems
from kschedweb.web.outages import find_outage

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.django_db


def open_sqlite(path: Path) -> DatabaseWrapper:
    """SQLite as the site opens it, which waits for a lock for a moment only."""
    options: Any = {"transaction_mode": "IMMEDIATE", "timeout": 0.05}
    return DatabaseWrapper({**connections["default"].settings_dict, "NAME": str(path), "OPTIONS": options})


@pytest.fixture
def locked_error(tmp_path: Path) -> DatabaseError:
    """Error that a writer gets while another one writes."""
    first, second = open_sqlite(tmp_path / "one.sqlite3"), open_sqlite(tmp_path / "one.sqlite3")
    first.connect()
    second.connect()
    try:
        with first.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError) as caught, second.cursor() as cursor:
            cursor.execute("CREATE TABLE more (id integer)")
    finally:
        first.connection.close()
        second.connection.close()
    return caught.value


def test_a_file_that_is_locked_or_gone_is_an_outage(locked_error: DatabaseError, tmp_path: Path) -> None:
    nowhere = open_sqlite(tmp_path / "no such folder" / "one.sqlite3")
    with pytest.raises(DatabaseError) as caught, nowhere.wrap_database_errors:
        nowhere.connect()
    assert find_outage(locked_error) is not None
    assert find_outage(caught.value) is not None


def test_another_fault_of_the_database_is_none(tmp_path: Path) -> None:
    connection_open = open_sqlite(tmp_path / "one.sqlite3")
    connection_open.connect()
    with pytest.raises(DatabaseError) as caught, connection_open.cursor() as cursor:
        cursor.execute("SELECT * FROM nowhere")
    connection_open.connection.close()
    assert find_outage(caught.value) is None
    assert find_outage(ValueError("no")) is None


def test_an_outage_behind_another_error_is_found(locked_error: DatabaseError) -> None:
    """Sessions turn it into errors of their own, which Django answers with 400."""
    try:
        try:
            raise locked_error
        except DatabaseError:
            raise UpdateError  # noqa: B904
    except UpdateError as error:
        session_error = SessionInterrupted("The session was deleted.")
        session_error.__context__ = error
    answer = problems.bad_request(RequestFactory().get("/"), session_error)
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (503, True)


@pytest.mark.parametrize("path", ["/", "/api/v1/jobs/"])
def test_an_outage_is_answered_without_asking_the_database(locked_error: DatabaseError, path: str) -> None:
    """No test marked for the database: a page with its frame would fail here."""

    def view(request: Any) -> Any:
        raise AssertionError("a middleware calls process_exception")

    request = RequestFactory().get(path)
    request.user = None  # type: ignore[assignment]  # as after the session was opened
    answer = problems.ProblemMiddleware(view).process_exception(request, locked_error)
    assert answer is not None
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (503, True)
    assert b"The database cannot be reached now." in answer.content
