"""How many SQL queries each page and each REST resource costs: a committed number, the same for 10 rows and for 100.

`UPDATE_QUERY_COUNTS=1 pytest tests/house/test_query_counts.py` writes the numbers anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import ROOT
from tests.support import addresses, seed

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings as DjangoSettings

    from kschedweb.accounts.models import User

COMMITTED = ROOT / "tests" / "query_counts.json"


def counted(client: Client, places: addresses.Places) -> dict[str, int]:
    """Queries by address, each visited twice so that what is kept in memory is there."""
    counts = {}
    visits = {f"page {name}": path for name, path in addresses.pages(places).items() if name != "login"}
    visits |= {f"REST {name}": path for name, path in addresses.resources(places).items()}
    for name, path in visits.items():
        first = client.get(path)
        assert first.status_code == 200, f"{path}: {first.status_code} {first.content[:500]!r}"
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(path)
        counts[name] = len(queries)
    return counts


@pytest.mark.parametrize("rows", [10, 100])
def test_every_address_costs_its_committed_number_of_queries(
    rows: int,
    client_as: Callable[[str], Client],
    admin: User,
    settings: DjangoSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.ADMIN_SESSION_IDLE_MINUTES = 0  # activity is noted once a minute, by whatever is visited just then
    settings.JOBS_WAITING = 10_000  # one person asks for everything here
    # A busy machine makes no job of a quick question.
    monkeypatch.setattr("kschedweb.playground.capacity.services.AT_ONCE_SECONDS", 600.0)
    counts = counted(client_as("admin"), seed.everything(rows, admin))
    if os.environ.get("UPDATE_QUERY_COUNTS") and rows == 10:
        COMMITTED.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
    assert counts == json.loads(COMMITTED.read_text())


def test_no_page_is_forgotten() -> None:
    every = dict.fromkeys(
        (
            "job",
            "experiment",
            "scenario",
            "ready",
            "classic",
            "run",
            "comparison",
            "gate",
            "moves",
            "capacity",
            "sweep",
            "recording",
            "snapshot",
            "token",
            "live",
            "live_decision",
            "approval",
            "webhook",
        ),
        "1",
    )
    places = addresses.Places("c", "n/p", "n/p", **every)  # type: ignore[arg-type]
    assert {name.partition(":")[0] for name in addresses.pages(places)} == addresses.routes(False) - addresses.NOT_PAGES
    assert set(addresses.resources(places)) == addresses.routes(True) - addresses.NOT_RESOURCES
