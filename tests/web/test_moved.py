"""No address of a page is lost: what moved redirects for good, with what was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kschedweb.clusters.services import sandbox_connect
from tests.support import former, seed
from tests.support.sandbox import told

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings as DjangoSettings

    from kschedweb.accounts.models import User


def test_every_address_that_ever_was_leads_to_a_page(
    client_as: Callable[[str], Client], admin: User, settings: DjangoSettings, sandbox_address: str
) -> None:
    told(settings, sandbox_address)
    sandbox_connect()
    settings.JOBS_WAITING = 10_000  # one person asks for everything here
    client, lost = client_as("admin"), {}
    for address in former.addresses(seed.everything(1, admin, "default/seed")):
        if address == "/login/":
            continue
        answer = client.get(address)
        if answer.status_code == 308:
            path, _, query = answer["Location"].partition("?")
            assert path != address.partition("?")[0]
            asked = address.partition("?")[2].split("&")
            assert set(filter(None, asked)) <= set(query.split("&")), f"{address} leads to {answer['Location']}"
            answer = client.get(answer["Location"])
        if answer.status_code != 200:
            lost[address] = answer.status_code
    assert lost == {}


@pytest.mark.parametrize(
    ("former_address", "address"),
    [
        ("/watermarks/?cluster=shop&range=1h", "/usage/?cluster=shop&range=1h"),
        ("/watermarks/policies/?policy=packing", "/load-aware/?policy=packing"),
        ("/clusters/shop/figures/", "/usage/source/?cluster=shop"),
        ("/clusters/shop/annotations/", "/usage/annotations/?cluster=shop"),
        ("/moves/?classic=old@1", "/migration/?classic=old%401"),
        ("/experiments/?page=2", "/comparisons/?page=2&kind=experiment"),
    ],
)
def test_a_page_that_moved_redirects_for_good_with_its_query(client: Client, former_address: str, address: str) -> None:
    answer = client.get(former_address)
    assert (answer.status_code, answer["Location"]) == (308, address)


def test_a_form_of_a_page_from_before_the_move_still_reaches_its_action(client: Client) -> None:
    answer = client.post("/clusters/shop/figures/change/", {"do": "test"})
    assert (answer.status_code, answer["Location"]) == (308, "/usage/source/shop/change/")
