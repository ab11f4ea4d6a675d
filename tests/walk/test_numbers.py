"""Separators of numbers that people read, on the pages of a large cluster; the walk covers attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kschedweb.clusters.services import sandbox_connect
from tests.support import addresses, seed
from tests.support.sandbox import use_sandbox
from tests.walk.numbers import Reader, bare_numbers

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings as DjangoSettings

    from kschedweb.accounts.models import User

NODES, BOUND, PENDING = 1_200, 1_300, 1_100


def test_what_people_read_has_separators(
    admin: User, client_as: Callable[[str], Client], settings: DjangoSettings, sandbox_address: str
) -> None:
    use_sandbox(settings, sandbox_address)
    sandbox_connect()
    settings.JOBS_WAITING = 10_000
    names = [f"node-{number:05d}" for number in range(NODES)]
    bound = [seed.pod(f"bound-{number:05d}", bound_to=names[number % NODES]) for number in range(BOUND)]
    pending = [seed.pod(f"pending-{number:05d}") for number in range(PENDING)]
    seed.imported("large", [*map(seed.node, names), *bound, *pending, seed.pod("stuck", cpu="1000")], admin)
    seed.measured("large", names, hours=1)
    places = addresses.Places(cluster="large", fitting="default/pending-00000", stuck="default/stuck")
    client, numbers_by_page, overview = client_as("admin"), {}, ""
    for name, path in addresses.pages(places).items():
        if name == "live-pod":
            continue
        answer = client.get(path, follow=True)
        assert answer.status_code == 200, path
        page = answer.content.decode()
        numbers_by_page[name] = bare_numbers(page)
        overview = page if name == "overview" else overview
    assert {name: wrong for name, wrong in numbers_by_page.items() if wrong} == {}
    assert "1,200" in " ".join(Reader(overview).words)
