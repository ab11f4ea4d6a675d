"""Keys of tokens: ``ksw_<prefix>_<secret>``. Only a digest is stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta
from hmac import compare_digest

from django.db.models import Q
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.accounts.addresses import current_address
from kschedweb.accounts.models import AuditEntry, Token

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_PREFIX_LENGTH = 8
# Characters of 62 letters and digits: 190 bits.
_SECRET_LENGTH = 32
_KEY = re.compile(rf"ksw_([A-Za-z0-9]{{{_PREFIX_LENGTH}}})_[A-Za-z0-9]{{{_SECRET_LENGTH}}}")

# Intervals between two notes of a use, and between two entries about the same refusal.
MARK_USE_EVERY = timedelta(minutes=1)
DENIED_EVERY = timedelta(hours=1)


def new_key() -> tuple[str, str]:
    """Return a new key and the prefix in it."""
    prefix = "".join(secrets.choice(_ALPHABET) for _ in range(_PREFIX_LENGTH))
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
    return f"ksw_{prefix}_{secret}", prefix


def compute_digest(key: str) -> str:
    """Return the digest of a key. A plain one is enough for 190 random bits, because there is no dictionary to try."""
    return hashlib.sha256(key.encode()).hexdigest()


def token_of(key: str) -> Token | None:
    """Return the token of ``key``, whatever its state; ``None`` if there is none."""
    match = _KEY.fullmatch(key)
    if not match:
        return None
    token = Token.objects.select_related("user").filter(prefix=match[1]).first()
    if token is None or not compare_digest(token.digest, compute_digest(key)):
        return None
    return token


def record_denial(token: Token | None, reason: str) -> None:
    """Write into the audit trail that a token was refused; the same token and reason again only after an hour."""
    since = timezone.now() - DENIED_EVERY
    earlier = AuditEntry.objects.filter(verb="token.denied", at__gt=since, address=current_address())
    token_fields = {"token_prefix": token.prefix, "token_name": token.name} if token else {}
    details = {**token_fields, "reason": reason}
    if not earlier.filter(**{f"details__{name}": value for name, value in details.items()}).exists():
        audit.record_refusal("token.denied", token.user if token else None, **details)


def mark_used(token: Token) -> None:
    """Note the use, at most once a minute, so that reading does not become writing."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > MARK_USE_EVERY:
        old = Q(last_used_at=None) | Q(last_used_at__lt=now - MARK_USE_EVERY)
        Token.objects.filter(old, pk=token.pk).update(last_used_at=now)
