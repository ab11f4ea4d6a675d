"""Credentials at rest: AES-256-GCM under the operator's own keys, bound to the cluster they open.

``KSCHEDWEB_ENCRYPTION_KEYS`` lists secrets of at least 32 characters. The first encrypts, all decrypt. To rotate, put
a new one in front, run ``manage.py rotate_keys``, and drop the old one.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction

from kschedweb.clusters.models import Cluster, Credential
from kschedweb.errors import ApplicationError

VARIABLE = "KSCHEDWEB_ENCRYPTION_KEYS"
SHORTEST = 32
NONCE_BYTES = 12


class CredentialError(ApplicationError):
    """Credentials cannot be kept or opened: the operator's keys are missing, wrong, or changed."""


@dataclass(frozen=True)
class Secret:
    """What opens a cluster. Nothing of it appears in ``repr``, so nothing of it can slip into a log."""

    server: str
    token: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)  # PEM; "": the system's certificate authorities
    client_certificate: str = field(default="", repr=False)  # PEM
    client_key: str = field(default="", repr=False)  # PEM
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    tls_server_name: str = ""


@dataclass(frozen=True)
class Key:
    id: str
    cipher: AESGCM = field(repr=False)


@cache
def _key(secret: str) -> Key:
    if len(secret) < SHORTEST:
        raise CredentialError(f"A key in {VARIABLE} is shorter than {SHORTEST} characters.", status=503)
    material = HKDF(SHA256(), length=32, salt=None, info=b"kschedweb credentials").derive(secret.encode())
    return Key(hashlib.sha256(b"id" + material).hexdigest()[:16], AESGCM(material))


def keys() -> list[Key]:
    """The operator's keys, the one that encrypts first. Raises ``CredentialError`` where there is none."""
    found = [_key(secret) for secret in settings.ENCRYPTION_KEYS]
    if not found:
        raise CredentialError(
            f"Credentials cannot be stored: whoever runs this installation must set {VARIABLE}.", status=503
        )
    return found


def credential_save(*, cluster: Cluster, secret: Secret) -> Credential:
    """Encrypt ``secret`` under the first key and keep it for ``cluster``."""
    key = keys()[0]
    plaintext = json.dumps(asdict(secret)).encode()
    credential, _ = Credential.objects.update_or_create(
        cluster=cluster, defaults={"key_id": key.id, "ciphertext": _encrypt(key, cluster, plaintext)}
    )
    return credential


def credential_open(cluster: Cluster) -> Secret:
    """The secret of ``cluster``. Raises ``CredentialError`` where no key opens it."""
    try:
        credential = cluster.credential
    except Credential.DoesNotExist:
        raise CredentialError(
            f"Cluster {cluster.name} has no stored credentials: connect it again.", status=409
        ) from None
    return Secret(**json.loads(_decrypt(credential)))


def _encrypt(key: Key, cluster: Cluster, plaintext: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + key.cipher.encrypt(nonce, plaintext, cluster.pk.bytes)


def _decrypt(credential: Credential) -> bytes:
    sealed = bytes(credential.ciphertext)
    for key in keys():
        if key.id == credential.key_id:
            try:
                # The cluster's id is authenticated with it: a row copied to another cluster does not open.
                return key.cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], credential.cluster_id.bytes)
            except InvalidTag:
                break
    raise CredentialError(
        f"The credentials of cluster {credential.cluster.name} cannot be opened with the keys in {VARIABLE}: "
        "bring back the key they were stored with, or connect the cluster again.",
        status=503,
    )


def keys_rotate() -> tuple[int, list[str]]:
    """Re-encrypt under the first key whatever another one holds: how many were, and the clusters no key opens.

    One row a transaction: it may be stopped anywhere and run again.
    """
    first, rotated, unopened = keys()[0], 0, list[str]()
    for cluster_id in Credential.objects.exclude(key_id=first.id).values_list("cluster_id", flat=True):
        with transaction.atomic():
            credential = Credential.objects.select_for_update().select_related("cluster").filter(pk=cluster_id).first()
            if credential is None or credential.key_id == first.id:
                continue
            try:
                plaintext = _decrypt(credential)
            except CredentialError:
                unopened.append(credential.cluster.name)
                continue
            credential.key_id, credential.ciphertext = first.id, _encrypt(first, credential.cluster, plaintext)
            credential.save(update_fields=["key_id", "ciphertext", "updated_at"])
            rotated += 1
    return rotated, unopened


def canary_check() -> list[str]:
    """Names of the clusters whose credentials the present keys do not open; one row a stored key is tried."""
    unopened: list[str] = []
    for key_id in Credential.objects.order_by().values_list("key_id", flat=True).distinct():
        credential = Credential.objects.select_related("cluster").filter(key_id=key_id).order_by("pk").first()
        try:
            if credential is not None:
                _decrypt(credential)
        except CredentialError:
            unopened += Credential.objects.filter(key_id=key_id).values_list("cluster__name", flat=True)
    return sorted(unopened)
