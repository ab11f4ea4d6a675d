"""Turns of heavy pages: as many at once as allowed, in the order of coming, and nobody holds a connection meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from kschedweb.dashboard import turns
from kschedweb.dashboard.turns import Turns
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from django.test import Client

PATIENCE = 60.0  # seconds until a test gives up


@pytest.fixture
def crowd() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as threads:
        yield threads


def waits(turns: Turns, number: int) -> bool:
    return turns.waiting == number


def test_turns_are_taken_in_the_order_of_coming(crowd: ThreadPoolExecutor) -> None:
    few, order = Turns(2), list[int]()

    def come(number: int) -> None:
        with few.taken():
            order.append(number)

    with ExitStack() as taken:
        taken.enter_context(few.taken())
        with few.taken():
            coming = []
            for number in range(20):
                coming.append(crowd.submit(come, number))
                wait_until(partial(waits, few, number + 1), PATIENCE, "one more waits", 0.001)
            assert order == []
        # One turn is free, so that they go one after the other.
        for one in coming:
            one.result(PATIENCE)
    assert order == list(range(20))
    assert few.waiting == 0


def test_a_turn_is_passed_on_after_an_error() -> None:
    one = Turns(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), one.taken():
            raise ZeroDivisionError


@pytest.mark.parametrize("address", ["/decision/nowhere/default/pod/", "/api/v1/clusters/nowhere/pods/a/b/decision/"])
@pytest.mark.django_db(transaction=True)
def test_a_decision_waits_for_its_turn_without_a_connection(
    client: Client, crowd: ThreadPoolExecutor, address: str
) -> None:
    """The middleware has read the session by then, and has given the connection back."""
    theirs = list[Any]()

    def visit() -> int:
        theirs.append(connections[DEFAULT_DB_ALIAS])
        try:
            return client.get(address).status_code
        finally:
            connection.close()

    client.cookies["sessionid"] = "x" * 32
    with ExitStack() as taken:
        for _ in range(2):
            taken.enter_context(turns.heavy.taken())
        visiting: Future[int] = crowd.submit(visit)
        wait_until(partial(waits, turns.heavy, 1), PATIENCE, "the page waits")
        wait_until(lambda: theirs[0].connection is None, PATIENCE, "the connection is given back")
    assert visiting.result(PATIENCE) in (302, 401)
