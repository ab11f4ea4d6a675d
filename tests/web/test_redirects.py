"""Moved addresses redirect for good, with their query; tests/walk/moved.py checks every address that ever was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client


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
