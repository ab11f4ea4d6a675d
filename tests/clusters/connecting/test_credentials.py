"""Credentials at rest: bound to their cluster, opened by any key, rotated to the first."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from kschedweb.clusters.connecting.credentials import (
    CredentialError,
    Secret,
    canary_check,
    credential_open,
    credential_save,
    keys_rotate,
)
from kschedweb.clusters.models import Cluster, Credential

pytestmark = pytest.mark.django_db

OLD, NEW, OTHER = (letter * 40 for letter in "abc")
SECRET = Secret(server="https://10.0.0.1:6443", token="t0p-s3cret", ca="PEM", client_key="k3y")


@pytest.fixture
def cluster(settings: Settings) -> Cluster:
    settings.ENCRYPTION_KEYS = [OLD]
    cluster = Cluster.objects.create(name="one", source="token")
    credential_save(cluster=cluster, secret=SECRET)
    return cluster


def test_a_secret_comes_back_whole_and_is_unreadable_at_rest(cluster: Cluster) -> None:
    assert credential_open(cluster) == SECRET
    stored = bytes(Credential.objects.get().ciphertext)
    assert b"t0p-s3cret" not in stored
    assert b"10.0.0.1" not in stored


def test_the_same_secret_is_never_stored_the_same_way_twice(cluster: Cluster) -> None:
    first = bytes(Credential.objects.get().ciphertext)
    credential_save(cluster=cluster, secret=SECRET)
    assert bytes(Credential.objects.get().ciphertext) != first


def test_repr_shows_no_secret() -> None:
    assert "t0p-s3cret" not in repr(SECRET)
    assert "k3y" not in repr(SECRET)


def test_a_row_copied_to_another_cluster_does_not_open(cluster: Cluster) -> None:
    other = Cluster.objects.create(name="two", source="token")
    row = Credential.objects.get()
    Credential.objects.create(cluster=other, key_id=row.key_id, ciphertext=row.ciphertext)
    with pytest.raises(CredentialError, match="cluster two cannot be opened"):
        credential_open(other)


def test_a_changed_byte_is_noticed(cluster: Cluster) -> None:
    row = Credential.objects.get()
    sealed = bytearray(row.ciphertext)
    sealed[-1] ^= 1
    row.ciphertext = bytes(sealed)
    row.save()
    with pytest.raises(CredentialError):
        credential_open(Cluster.objects.get())


def test_keys_rotate_and_rotating_again_changes_nothing(cluster: Cluster, settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert keys_rotate() == (1, [])
    assert keys_rotate() == (0, [])
    settings.ENCRYPTION_KEYS = [NEW]
    assert credential_open(Cluster.objects.get()) == SECRET


def test_rotation_goes_on_after_a_row_that_no_key_opens(cluster: Cluster, settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OTHER]
    lost = Cluster.objects.create(name="lost", source="token")
    credential_save(cluster=lost, secret=SECRET)
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    out = io.StringIO()
    with pytest.raises(CommandError, match="lost"):
        call_command("rotate_keys", stdout=out)
    assert "Encrypted again: 1." in out.getvalue()
    assert canary_check() == ["lost"]


def test_the_canary_notices_a_missing_key(cluster: Cluster, settings: Settings) -> None:
    assert canary_check() == []
    settings.ENCRYPTION_KEYS = [NEW]
    assert canary_check() == ["one"]
    settings.ENCRYPTION_KEYS = []
    assert canary_check() == ["one"]


@pytest.mark.parametrize(
    ("keys", "message"), [([], "must set KSCHEDWEB_ENCRYPTION_KEYS"), (["short"], "shorter than 32")]
)
def test_without_a_good_key_nothing_is_stored(settings: Settings, keys: list[str], message: str) -> None:
    settings.ENCRYPTION_KEYS = keys
    cluster = Cluster.objects.create(name="one", source="token")
    with pytest.raises(CredentialError, match=message) as caught:
        credential_save(cluster=cluster, secret=SECRET)
    assert caught.value.status == 503
    assert not Credential.objects.exists()
