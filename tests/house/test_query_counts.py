"""How many SQL queries each page and each REST resource may cost, whatever the number of rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kschedweb.clusters.services import sandbox_connect
from tests.support import addresses, seed
from tests.support.routes import routes
from tests.support.sandbox import told

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings as DjangoSettings

    from kschedweb.accounts.models import User

ROWS = 30  # of everything: one query a row is more than any bound
REST, PAGE = 8, 14
# What draws on more, each with room for one query more than it asks today.
LARGER = {
    "REST cluster-map": 12, "REST cluster-map-frames": 12, "REST comparison-report": 10, "REST decisions-together": 12,
    "REST cost": 11, "REST pod-history": 14, "REST live-shadow-drift": 10, "REST podgroup": 13,
    "REST watermark-distribution": 16, "REST watermark-history": 16, "REST watermark-nodes": 10,
    "REST watermark-skew": 16, "REST watermark-source": 11,
    "page approval": 16, "page approvals": 16, "page comparison": 18, "page decision": 22, "page decision:stuck": 22,
    "page pod-group": 18, "page pod-group:off": 18,
    "page costs": 18, "page costs:workload": 18,
    "page decision:classic": 25, "page decision:classic-stuck": 20, "page live-shadow": 17, "page nodes": 20,
    "page nodes:state": 20, "page nodes:none": 20, "page pods:reason": 21, "page overview": 31,
    "page right-sizing-apply": 16,
    "page pods": 18, "page pod-history": 21, "page decisions-together": 18,
    "page sweep-new:rows": 16, "page usage": 20, "page usage-distribution": 20, "page usage-heatmap": 20,
    "page usage-nodes": 21, "page usage-source": 20, "page usage-workloads": 19,
    "REST decision": 13,
    "REST devices": 12,
    "REST load-aware": 10,
    "page gate": 19,
    "page gate:filtered": 17,
    "page load-aware": 16,
    "page pod-groups": 16,
}  # fmt: skip


def bound(name: str) -> int:
    return LARGER.get(name, REST if name.startswith("REST ") else PAGE)


def counted(client: Client, places: addresses.Places) -> Iterator[tuple[str, int]]:
    """Queries by address; one that exceeds its bound is visited again, since what is kept in memory is there now."""
    visits = {f"page {name}": path for name, path in addresses.pages(places).items() if path != "/login/"}
    visits |= {f"REST {name}": path for name, path in addresses.resources(places).items()}
    for name, path in visits.items():
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.content[:500]!r}"
        if len(queries) > bound(name):
            with CaptureQueriesContext(connection) as queries:
                client.get(path)
        yield name, len(queries)


def test_no_address_costs_more_queries_than_its_bound(
    client_as: Callable[[str], Client],
    admin: User,
    settings: DjangoSettings,
    monkeypatch: pytest.MonkeyPatch,
    sandbox_address: str,
) -> None:
    told(settings, sandbox_address)
    sandbox_connect()
    settings.ADMIN_SESSION_IDLE_MINUTES = 0  # activity is noted once a minute, by whatever is visited just then
    settings.JOBS_WAITING = 10_000  # one person asks for everything here
    # A busy machine makes no job of a quick question.
    monkeypatch.setattr("kschedweb.playground.capacity.services.AT_ONCE_SECONDS", 600.0)
    monkeypatch.setattr("kschedweb.advice.moves.services.AT_ONCE_SECONDS", 600.0)
    counts = dict(counted(client_as("admin"), seed.everything(ROWS, admin, "default/seed")))
    assert {name: count for name, count in counts.items() if count > bound(name)} == {}
    assert counts.keys() >= LARGER.keys()


def test_no_page_and_no_resource_is_forgotten() -> None:
    every = {field.name: "1" for field in dataclasses.fields(addresses.Places) if field.default == ""}
    places = addresses.Places("c", "n/p", "n/p", **every)  # type: ignore[arg-type]
    opened = [route for route in routes() if route.opened]
    assert {name.partition(":")[0] for name in addresses.pages(places)} == {r.name for r in opened if not r.rest}
    assert set(addresses.resources(places)) == {route.name for route in opened if route.rest}
