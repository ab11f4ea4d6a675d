"""Addresses for requests: the operator's allowlist against every trick with addresses and names."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from kschedweb.clusters.connecting.addresses import (
    AddressError,
    Allowlist,
    Resolver,
    embedded_ipv4,
    endpoint_check,
    is_forbidden,
    server_split,
)


@pytest.fixture(autouse=True)
def allowlist(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["10.20.0.0/16", "fd12:3456::/32", "api.example.com", "*.clusters.example.org"]
    settings.CLUSTER_ALLOW_INSECURE = False


def to(*addresses: str) -> Resolver:
    return lambda host, port: list(addresses)


def test_a_listed_network_is_reached_at_the_checked_address() -> None:
    endpoint = endpoint_check("https://kube.internal:6443/k8s/clusters/c-1/", resolver=to("10.20.3.4"))
    assert endpoint.url == "https://10.20.3.4:6443/k8s/clusters/c-1"
    assert endpoint.host == "kube.internal"
    assert endpoint.host_header == "kube.internal:6443"


def test_a_listed_name_is_reached_at_a_public_address() -> None:
    assert endpoint_check("https://API.example.com.", resolver=to("93.184.216.34")).url == "https://93.184.216.34:443"
    assert endpoint_check("https://a.clusters.example.org", resolver=to("2606:2800:220:1::1")).url == (
        "https://[2606:2800:220:1::1]:443"
    )


@pytest.mark.parametrize(
    ("server", "addresses"),
    [
        ("https://api.example.com", ["127.0.0.1"]),
        ("https://api.example.com", ["192.168.1.1"]),
        ("https://api.example.com", ["93.184.216.34", "10.0.0.1"]),  # one good answer does not excuse the other
        ("https://clusters.example.org", ["93.184.216.34"]),  # the suffix asks for a label before it
        ("https://evilclusters.example.org", ["93.184.216.34"]),
        ("https://api.example.com.evil.net", ["93.184.216.34"]),
        ("https://other.example.com", ["93.184.216.34"]),
        ("https://10.21.0.1", ["10.21.0.1"]),
        ("https://2130706433", ["127.0.0.1"]),
        ("https://[::1]", ["::1"]),
        ("https://[::ffff:127.0.0.1]", ["::ffff:127.0.0.1"]),
        ("https://[64:ff9b::7f00:1]", ["64:ff9b::7f00:1"]),
        ("https://[2002:7f00:1::]", ["2002:7f00:1::"]),
    ],
)
def test_what_is_not_listed_is_refused(server: str, addresses: list[str]) -> None:
    with pytest.raises(AddressError, match="not among the addresses"):
        endpoint_check(server, resolver=to(*addresses))


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
    ],
)
def test_metadata_and_link_local_stay_closed_whatever_is_listed(settings: Settings, address: str) -> None:
    settings.CLUSTER_ALLOWLIST = ["0.0.0.0/0", "::/0", "*"]
    with pytest.raises(AddressError, match="no request may go to"):
        endpoint_check("https://api.example.com", resolver=to("93.184.216.34", address))


def test_mapped_addresses_follow_the_rule_of_the_address_inside() -> None:
    assert endpoint_check("https://kube", resolver=to("::ffff:10.20.1.1")).address == "::ffff:10.20.1.1"
    assert endpoint_check("https://kube", resolver=to("64:ff9b::a14:101")).address == "64:ff9b::a14:101"


def test_nothing_is_reached_while_nothing_is_listed(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = []
    with pytest.raises(AddressError, match="KSCHEDWEB_CLUSTER_ALLOWLIST"):
        endpoint_check("https://api.example.com", resolver=to("93.184.216.34"))


def test_the_name_is_resolved_once() -> None:
    resolved_hosts: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        resolved_hosts.append(host)
        return ["10.20.0.1"] if len(resolved_hosts) == 1 else ["169.254.169.254"]

    assert endpoint_check("https://kube.internal", resolver=rebinding).address == "10.20.0.1"
    assert resolved_hosts == ["kube.internal"]


@pytest.mark.parametrize(
    "server",
    [
        "http://10.20.0.1",
        "ftp://10.20.0.1",
        "file:///etc/passwd",
        "10.20.0.1:6443",
        "https://",
        "https://user:password@10.20.0.1",
        "https://10.20.0.1@evil.net",
        "https://10.20.0.1:99999",
        "https://10.20.0.1:0",
        "https://10.20.0.1/?q=1",
        "https://10.20.0.1/#fragment",
        "https://10.20.0.1/a/../../b",
        "https://10.20.0.1/a%2f..",
        "https://10.20.0.1\\@evil.net",
        "https://10.20.0.1\r\nHost: evil",
        "https://ka\x00be",
        "https://-bad.example.com",
        "https://[fe80::1%25eth0",
        "https://" + "a" * 300,
    ],
)
def test_odd_addresses_are_refused_before_anything_is_asked(server: str) -> None:
    def never_asked(host: str, port: int) -> list[str]:
        raise AssertionError("no name may be resolved")

    with pytest.raises(AddressError):
        endpoint_check(server, resolver=never_asked)


def test_an_unknown_name_says_so() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(AddressError, match="cannot be resolved"):
        endpoint_check("https://nowhere.invalid", resolver=unknown)


def test_the_operators_own_environment_needs_no_entry(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = []
    assert endpoint_check("https://10.96.0.1:443", trusted=True).address == "10.96.0.1"
    with pytest.raises(AddressError):
        endpoint_check("https://169.254.169.254", trusted=True)


@given(st.ip_addresses(v=4))
def test_every_form_of_an_ipv4_address_gets_its_verdict(address: ipaddress.IPv4Address) -> None:
    allowlist = Allowlist(["10.20.0.0/16"])
    forms = [f"::ffff:{address}", str(ipaddress.IPv6Address((0x64FF9B << 96) | int(address)))]

    def allowed(form: str) -> bool:
        try:
            allowlist.check_address("host", ipaddress.ip_address(form))
        except AddressError:
            return False
        return True

    expected = address in ipaddress.ip_network("10.20.0.0/16")
    assert [allowed(form) for form in [str(address), *forms]] == [expected] * 3
    assert all(embedded_ipv4(ipaddress.ip_address(form)) == address for form in forms)
    assert is_forbidden(address) == (is_forbidden(embedded_ipv4(ipaddress.ip_address(forms[0]))))


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading_of_an_address(text: str) -> None:
    try:
        scheme, host, port, path = server_split(f"https://{text}")
    except AddressError:
        return
    assert scheme == "https"
    assert host.isascii()
    assert 0 < port < 65536
    assert path == "" or path.startswith("/")
