"""Addresses that take forms alone, opened again."""

from __future__ import annotations

from django.http import HttpResponseNotAllowed

from tests.support.routes import routes


def test_every_address_of_a_form_leads_to_its_page(client_as) -> None:
    client = client_as("admin")
    assert client.get("/approvals/decide/").status_code == 405
    client.defaults["HTTP_ACCEPT"] = "text/html,*/*"  # as a browser that opens an address
    for address in ("/approvals/decide/", "/theme/", "/sandbox/create/", "/logout/"):
        assert client.get(address).status_code == 302, address
    assert client.get("/approvals/decide/").headers["Location"] == "/approvals/"
    assert client.get("/tokens/1/revoke/").headers["Location"] == "/tokens/"
    refusing_pages = []
    for route in routes():
        answer = client.get(route.address) if not route.is_rest else None
        if isinstance(answer, HttpResponseNotAllowed):
            refusing_pages.append(route.address)
    assert not refusing_pages
