"""Addresses under which requests are counted and logged."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from kschedweb.accounts.addresses import client_address, client_network

PROXY = "10.0.0.1"


def make_request(forwarded_for: str | None = None, remote: str = PROXY):
    headers = {} if forwarded_for is None else {"X-Forwarded-For": forwarded_for}
    return RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote)


@pytest.mark.parametrize(
    ("forwarded_for", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("9.9.9.9, 203.0.113.7", "203.0.113.7"),
        ("9.9.9.9,203.0.113.7:4711", "203.0.113.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, unknown", PROXY),
        ("203.0.113.7,", PROXY),
        ("' OR 1=1 --", PROXY),
        ("", PROXY),
        (None, PROXY),
    ],
)
def test_behind_the_proxy_it_is_what_the_proxy_saw(settings, forwarded_for, address):
    settings.BEHIND_PROXY = True
    assert client_address(make_request(forwarded_for)) == address


def test_without_a_proxy_nobody_chooses_it(settings):
    settings.BEHIND_PROXY = False
    assert client_address(make_request("203.0.113.7")) == PROXY
    assert client_address(make_request(remote="::ffff:192.0.2.1")) == "192.0.2.1"
    assert client_address(make_request(remote="")) is None


def test_limits_count_a_network_of_ipv6_as_one():
    assert client_network(make_request(remote="2001:db8:1:2:3:4:5:6")) == "2001:db8:1:2::"
    assert client_network(make_request(remote="192.0.2.1")) == "192.0.2.1"
    assert client_network(make_request(remote="")) is None
