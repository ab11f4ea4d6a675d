"""The secret that kube-scheduler sends: its form, and how a request shows it.

kube-scheduler can send nothing but an address. The secret is the password in it (``https://kschedweb:SECRET@…``), which
Go sends as a header. So no log of addresses has it, and Go's own errors, which end up in pods' events, mask it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from hmac import compare_digest

USER = "kschedweb"
# A prefix by which people and scanners recognize a leaked secret.
MARK = "kse_"


def new_secret() -> str:
    """Return a new secret of 256 random bits."""
    return f"{MARK}{secrets.token_urlsafe(32)}"


def compute_digest(secret: str) -> str:
    """Return a plain SHA-256. It is enough for a random secret: there is no dictionary to try."""
    return hashlib.sha256(secret.encode()).hexdigest()


def shows_secret(stored_digest: str, header: str) -> bool:
    """Return whether the value of an Authorization header shows the secret with the digest ``stored_digest``."""
    scheme, _, value = header.partition(" ")
    if not stored_digest or scheme.lower() != "basic" or len(header) > 500:
        return False
    try:
        _, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return compare_digest(stored_digest, compute_digest(secret))
