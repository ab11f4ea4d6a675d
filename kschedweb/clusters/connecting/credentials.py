"""Encryption of stored credentials: AES-256-GCM under the operator's keys, bound to the cluster.

``KSCHEDWEB_ENCRYPTION_KEYS`` lists secrets of at least 32 characters. The first one encrypts, and all decrypt. To
rotate, put a new one first, run ``manage.py rotate_keys``, and remove the old one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from functools import cache
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.apps import apps
from django.conf import settings
from django.db import transaction

from kschedweb.clusters.connecting.addresses import AddressError, host_normalise
from kschedweb.clusters.models import Cluster, Credential, Sealed, SealedRow
from kschedweb.web.errors import ApplicationError

VARIABLE = "KSCHEDWEB_ENCRYPTION_KEYS"
# Characters; `openssl rand -base64 32` prints 44.
SHORTEST = 32
# The nonce size of GCM. Random nonces of 96 bits are safe for far more rows than there can be.
NONCE_BYTES = 12
# Characters; far more than any token has.
LONGEST_TOKEN = 16_384


class CredentialError(ApplicationError):
    """Credentials cannot be stored or decrypted: the operator's keys are missing, invalid, or changed."""


def ascii_pem(text: str) -> str:
    """Return PEM ``text`` without characters that only comments can hold, which the ssl module refuses."""
    return text.encode("ascii", "ignore").decode()


@dataclass(frozen=True)
class Secret:
    """The credentials of a cluster. ``repr`` shows no secret, so that none can get into a log."""

    server: str
    token: str = field(default="", repr=False)
    # PEM; "" for the system's certificate authorities.
    ca: str = field(default="", repr=False)
    # PEM.
    client_certificate: str = field(default="", repr=False)
    # PEM.
    client_key: str = field(default="", repr=False)
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    # The name in the server's certificate; "" if it is the host of the address.
    tls_server_name: str = ""

    def __post_init__(self) -> None:
        """Refuse values that cannot be sent: a line break in a header would begin another header."""
        token, pair = self.token, self.username + self.password
        if len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
            message = "This is not a token: it must be one word of printable ASCII characters."
            raise ApplicationError.at("token", message)
        if len(pair) > LONGEST_TOKEN or not pair.isprintable() or ":" in self.username:
            name = "username" if ":" in self.username or not self.username.isprintable() else "password"
            raise ApplicationError.at(name, "This holds characters that cannot be sent.")
        if self.tls_server_name:
            try:
                host_normalise(self.tls_server_name)
            except AddressError as error:
                raise ApplicationError.at("tls_server_name", error.detail) from None

    @property
    def authorization(self) -> dict[str, str]:
        """The authorization header; empty if none is needed."""
        if self.token:
            return {"Authorization": f"Bearer {self.token}"}
        if self.username:
            pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}


@dataclass(frozen=True)
class Key:
    # A digest of the key, which rows name; it reveals nothing of the key.
    id: str
    cipher: AESGCM = field(repr=False)


@cache
def _derive_key(secret: str) -> Key:
    if len(secret) < SHORTEST:
        raise CredentialError(f"A key in {VARIABLE} is shorter than {SHORTEST} characters.", status=503)
    # HKDF makes 32 bytes of whatever the operator wrote; changing "info" would orphan every stored row.
    material = HKDF(SHA256(), length=32, salt=None, info=b"kschedweb credentials").derive(secret.encode())
    return Key(hashlib.sha256(b"id" + material).hexdigest()[:16], AESGCM(material))


def encryption_keys() -> list[Key]:
    """Return the operator's keys; the first one encrypts. Raises ``CredentialError`` if there is none."""
    derived_keys = [_derive_key(secret) for secret in settings.ENCRYPTION_KEYS]
    if not derived_keys:
        raise CredentialError(
            f"Credentials cannot be stored: whoever runs this installation must set {VARIABLE}.", status=503
        )
    return derived_keys


def credential_save(*, cluster: Cluster, secret: Secret, model: type[Sealed] = Credential) -> Sealed:
    """Encrypt ``secret`` with the first key, and store it for ``cluster`` as a row of ``model``."""
    key = encryption_keys()[0]
    plaintext = json.dumps(asdict(secret)).encode()
    sealed = _encrypt(key, model.purpose, cluster.pk, plaintext)
    credential, _ = model._default_manager.update_or_create(
        cluster=cluster, defaults={"key_id": key.id, "ciphertext": sealed}
    )
    return credential


def credential_open(cluster: Cluster, *, model: type[Sealed] = Credential) -> Secret:
    """Return the secret of ``cluster`` in ``model``. Raises ``CredentialError`` if there is none, or no key decrypts
    it.
    """
    credential = model._default_manager.select_related("cluster").filter(cluster=cluster).first()
    if credential is None:
        raise CredentialError(f"Cluster {cluster.name} has no stored credentials: connect it again.", status=409)
    return Secret(**json.loads(_decrypt(credential)))


def text_seal(row: SealedRow, text: str) -> None:
    """Put ``text``, encrypted with the first key, into ``row``, which the caller saves."""
    key = encryption_keys()[0]
    row.key_id, row.ciphertext = key.id, _encrypt(key, row.purpose, row.pk, text.encode())


def text_open(row: SealedRow) -> str:
    """Return the text that ``text_seal`` put into ``row``. Raises ``CredentialError`` if no key decrypts it."""
    return _decrypt(row).decode()


def _encrypt(key: Key, purpose: bytes, owner: UUID, plaintext: bytes) -> bytes:
    # Owner and purpose are authenticated, so that a copied row cannot be decrypted.
    nonce = os.urandom(NONCE_BYTES)
    return nonce + key.cipher.encrypt(nonce, plaintext, owner.bytes + purpose)


def _decrypt(row: SealedRow) -> bytes:
    sealed = bytes(row.ciphertext)
    for key in encryption_keys():
        if key.id == row.key_id:
            try:
                return key.cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], row.pk.bytes + row.purpose)
            except InvalidTag:
                break
    raise CredentialError(
        f"The credentials of {row.kind} {row.opens} cannot be opened with the keys in {VARIABLE}: "
        "bring back the key they were stored with, or enter them again.",
        status=503,
    )


def sealed_models() -> list[type[SealedRow]]:
    """Return all models of sealed rows."""
    return [model for model in apps.get_models() if issubclass(model, SealedRow)]


def keys_rotate() -> tuple[int, list[str]]:
    """Encrypt all rows of older keys with the first one. Returns their number, and the owners of unreadable rows.

    Each row has its own transaction, so the command can be stopped and run again.
    """
    first, rotated, unopened = encryption_keys()[0], 0, list[str]()
    for model in sealed_models():
        rows = model._default_manager
        for owner in rows.exclude(key_id=first.id).values_list("pk", flat=True):
            with transaction.atomic():
                row = rows.select_for_update(of=("self",)).filter(pk=owner).first()
                # The row may be gone or rotated since its key was listed.
                if row is None or row.key_id == first.id:
                    continue
                try:
                    plaintext = _decrypt(row)
                except CredentialError:
                    unopened.append(row.opens)
                    continue
                row.key_id = first.id
                row.ciphertext = _encrypt(first, model.purpose, row.pk, plaintext)
                row.save(update_fields=["key_id", "ciphertext", "updated_at"])
                rotated += 1
    return rotated, unopened


def canary_check() -> list[str]:
    """Return the owners of credentials that the current keys do not decrypt. One row of each stored key is tried."""
    unopened: set[str] = set()
    for model in sealed_models():
        rows = model._default_manager
        for key_id in rows.order_by().values_list("key_id", flat=True).distinct():
            row = rows.filter(key_id=key_id).order_by("pk").first()
            try:
                if row is not None:
                    _decrypt(row)
            except CredentialError:
                unopened |= {sealed_row.opens for sealed_row in rows.filter(key_id=key_id)}
    return sorted(unopened)


def credentials_check() -> None:
    """Raise RuntimeError if the operator's keys do not decrypt stored credentials."""
    if unopened := canary_check():
        raise RuntimeError(f"no key opens the credentials of {', '.join(unopened)}")
