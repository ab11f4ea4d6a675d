"""What an address asks of a list that the list cannot do: told on pages."""

from __future__ import annotations

import pytest

from tests.support.html import elements


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/nodes/?ready=banana", "The filter ready=banana was left out. Must be true or false."),
        ("/nodes/?raedy=true", "This list has no filter “raedy”"),
        ("/nodes/?ordering=banana", "The filter ordering=banana was left out."),
        ("/policies/?kind=banana", "The filter kind=banana was left out."),
        ("/fleet/?ordering=banana", "The filter ordering=banana was left out."),
        ("/nodes/?ready=true&zone=zone-a&show=cpu&page=2&view=1&cluster=demo", ""),
    ],
)
def test_a_page_falls_back_and_says_what_it_left_out(client_as, demo, address: str, told: str) -> None:
    page = client_as("viewer").get(address)
    assert page.status_code == 200
    notices = [notice.text for notice in elements(page, "[data-ignored]")]
    assert [told in notice for notice in notices] == ([True] if told else [])
