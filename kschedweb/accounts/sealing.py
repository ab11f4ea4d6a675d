"""Encryption of what sign-in has to store: tokens of identity providers, keys of authenticator apps.

The keys are derived from KSCHEDWEB_ENCRYPTION_KEYS (the first encrypts, all decrypt); if there are none, from
KSCHEDWEB_SECRET_KEY.
"""

from __future__ import annotations

import base64
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


@cache
def _make_fernet(secret: str) -> Fernet:
    # The label keeps these keys apart from those of cluster credentials, which have the same source.
    key = HKDF(SHA256(), length=32, salt=None, info=b"kschedweb sign-in").derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(key))


def _make_keyring() -> MultiFernet:
    return MultiFernet([_make_fernet(secret) for secret in (*settings.ENCRYPTION_KEYS, settings.SECRET_KEY)])


def seal(text: str) -> str:
    return _make_keyring().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str | None:
    """Return the text that was sealed; ``None`` if no key opens it."""
    try:
        return _make_keyring().decrypt(sealed.encode()).decode()
    except InvalidToken:
        return None


def reseal(sealed: str) -> str | None:
    """Return ``sealed`` under the first key; ``None`` if no key opens it."""
    text = unseal(sealed)
    return None if text is None else seal(text)
