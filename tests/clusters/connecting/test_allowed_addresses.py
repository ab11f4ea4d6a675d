"""Entries of the allowlist that administrators add: what may be added, that it counts, and who did it."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.connecting.addresses import (
    CLUSTERS,
    REPOSITORIES,
    AddressError,
    UnlistedAddress,
    embedded_ipv4,
    endpoint_check,
    is_forbidden,
)
from kschedweb.clusters.connecting.allowed_addresses import (
    allowed_address_add,
    allowed_address_list,
    allowed_address_remove,
    entry_normalise,
)
from kschedweb.clusters.models import AllowedAddress
from kschedweb.web.errors import ApplicationError, Conflict, Forbidden, NotFound
from tests.clusters.connecting.test_addresses import to

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


@pytest.fixture(autouse=True)
def editable(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST, settings.CLUSTER_ALLOWLIST_EDITABLE = ["10.20.0.0/16"], True


@pytest.mark.django_db
def test_an_added_address_is_allowed_until_it_is_removed(admin: User) -> None:
    with pytest.raises(UnlistedAddress, match="an administrator can allow it") as refused:
        endpoint_check("https://kube.internal:6443", resolver=to("10.1.2.3"))
    allowed_address_add(user=admin, entry=refused.value.entry)
    assert endpoint_check("https://kube.internal:6443", resolver=to("10.1.2.3")).address == "10.1.2.3"
    assert [(row.entry, row.added_by) for row in allowed_address_list()] == [("10.1.2.3", admin)]
    allowed_address_remove(user=admin, entry="10.1.2.3")
    with pytest.raises(UnlistedAddress):
        endpoint_check("https://kube.internal:6443", resolver=to("10.1.2.3"))
    entries = AuditEntry.objects.filter(verb__startswith="cluster.address").order_by("id")
    assert list(entries.values_list("actor_name", "verb", "object_name")) == [
        (admin.get_username(), "cluster.address_allowed", "10.1.2.3"),
        (admin.get_username(), "cluster.address_removed", "10.1.2.3"),
    ]


@pytest.mark.django_db
def test_what_was_added_counts_for_clusters_alone_and_only_with_the_setting(admin: User, settings: Settings) -> None:
    settings.REPOSITORY_ALLOWLIST = ["192.0.2.0/24"]
    allowed_address_add(user=admin, entry="10.1.2.3")
    with pytest.raises(AddressError):
        endpoint_check("https://10.1.2.3", rule=REPOSITORIES, resolver=to("10.1.2.3"))
    settings.CLUSTER_ALLOWLIST_EDITABLE = False
    with pytest.raises(AddressError, match="whoever runs it can add"):
        endpoint_check("https://10.1.2.3", resolver=to("10.1.2.3"))
    assert CLUSTERS.entries == ["10.20.0.0/16"]
    for act in (allowed_address_add, allowed_address_remove):
        with pytest.raises(Forbidden, match="KSCHEDWEB_CLUSTER_ALLOWLIST_EDITABLE"):
            act(user=admin, entry="10.1.2.3")
    assert AllowedAddress.objects.count() == 1


@pytest.mark.django_db
def test_an_entry_is_added_once_and_removed_once(admin: User) -> None:
    allowed_address_add(user=admin, entry=" 10.30.1.0/8 ")
    for entry in ("10.0.0.0/8", "10.20.0.0/16"):
        with pytest.raises(Conflict, match="allowed already"):
            allowed_address_add(user=admin, entry=entry)
    allowed_address_remove(user=admin, entry="10.0.0.0/8")
    with pytest.raises(NotFound):
        allowed_address_remove(user=admin, entry="10.0.0.0/8")


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["169.254.169.254", "100.100.100.200", "fe80::1", "::ffff:169.254.169.254"])
def test_forbidden_addresses_stay_forbidden_below_an_added_network(admin: User, address: str) -> None:
    for entry in ("169.0.0.0/8", "100.0.0.0/8"):
        allowed_address_add(user=admin, entry=entry)
    with pytest.raises(AddressError, match="no request may go to"):
        endpoint_check("https://kube.internal", resolver=to(address))


@pytest.mark.parametrize(
    ("entry", "phrase"),
    [
        ("169.254.169.254", "no request may go"),
        ("169.254.0.0/16", "no request may go"),
        ("::ffff:169.254.169.254", "no request may go"),
        ("fd00:ec2::254", "no request may go"),
        ("0.0.0.0", "no request may go"),
        ("224.0.0.0/8", "no request may go"),
        ("0.0.0.0/0", "too wide"),
        ("::/0", "too wide"),
        ("*", "Enter an address"),
        ("*.com", "too wide"),
        ("https://api.example.com", "Enter an address"),
        ("not a name", "Enter an address"),
        ("", "Enter an address"),
    ],
)
def test_entries_that_are_refused(entry: str, phrase: str) -> None:
    with pytest.raises(ApplicationError, match=phrase) as refused:
        entry_normalise(entry, resolver=to("93.184.216.34"))
    assert [problem["path"] for problem in refused.value.errors] == ["entry"]


@pytest.mark.parametrize(
    ("addresses", "phrase"),
    [
        ([], "cannot be resolved"),
        (["93.184.216.34", "10.1.2.3"], "leads to 10.1.2.3, which is not public"),
        (["169.254.169.254"], "no request may go to"),
        (["64:ff9b::a9fe:a9fe"], "no request may go to"),
    ],
)
def test_a_name_is_refused_for_the_addresses_it_leads_to(addresses: list[str], phrase: str) -> None:
    with pytest.raises(ApplicationError, match=phrase):
        entry_normalise("api.example.com", resolver=to(*addresses))


@pytest.mark.parametrize(
    ("entry", "normal"),
    [
        ("10.20.3.4/16", "10.20.0.0/16"),
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("FD12:3456::1", "fd12:3456::1"),
        ("API.example.com.", "api.example.com"),
        ("*.Clusters.example.org", "*.clusters.example.org"),
    ],
)
def test_entries_are_stored_in_one_form(entry: str, normal: str) -> None:
    assert entry_normalise(entry, resolver=to("93.184.216.34")) == normal


@given(st.ip_addresses())
def test_any_address_is_refused_or_stored_as_what_is_checked(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    inner = embedded_ipv4(address)
    if is_forbidden(address) or is_forbidden(inner):
        with pytest.raises(ApplicationError):
            entry_normalise(str(address))
    else:
        assert entry_normalise(str(address)) == str(inner)
