"""The secret with which kube-scheduler asks: what it looks like, and how a request shows it.

kube-scheduler can send nothing but an address. The secret is the password in it (``https://kschedweb:SECRET@…``), which
Go sends as a header: so it is in no log of addresses, and Go's own errors, which end up in pods' events, mask it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from hmac import compare_digest

USER = "kschedweb"
MARK = "kse_"


def new_secret() -> str:
    """A new one, of 256 random bits."""
    return f"{MARK}{secrets.token_urlsafe(32)}"


def compute_digest(secret: str) -> str:
    """A plain digest is enough for a random secret: there is no dictionary to try."""
    return hashlib.sha256(secret.encode()).hexdigest()


def shows_secret(stored_digest: str, header: str) -> bool:
    """Whether the value of an Authorization header shows the secret whose digest is ``stored_digest``."""
    scheme, _, value = header.partition(" ")
    if not stored_digest or scheme.lower() != "basic" or len(header) > 500:
        return False
    try:
        _, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return compare_digest(stored_digest, compute_digest(secret))
