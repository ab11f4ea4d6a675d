"""What a token looks like, and how one is recognised: ``ksw_<prefix>_<secret>``, of which only a digest is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta
from hmac import compare_digest

from django.db.models import Q
from django.utils import timezone

from kschedweb.accounts.models import Token

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_PREFIX_LENGTH = 8
_SECRET_LENGTH = 32  # of 62 letters: 190 bits
_KEY = re.compile(rf"ksw_([A-Za-z0-9]{{{_PREFIX_LENGTH}}})_[A-Za-z0-9]{{{_SECRET_LENGTH}}}")

MARK_USE_EVERY = timedelta(minutes=1)


def new_key() -> tuple[str, str]:
    """A new key and the prefix in it."""
    prefix = "".join(secrets.choice(_ALPHABET) for _ in range(_PREFIX_LENGTH))
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
    return f"ksw_{prefix}_{secret}", prefix


def digest(key: str) -> str:
    """A plain digest is enough for a random key of 190 bits: there is no dictionary to try."""
    return hashlib.sha256(key.encode()).hexdigest()


def token_of(key: str) -> Token | None:
    """The token that ``key`` opens, ``None`` if there is none, or it is over, or its owner may not log in."""
    match = _KEY.fullmatch(key)
    if not match:
        return None
    token = Token.objects.select_related("user").filter(prefix=match[1]).first()
    if token is None or not compare_digest(token.digest, digest(key)):
        return None
    return token if token.current_state == "active" and token.user.is_active else None


def mark_used(token: Token) -> None:
    """Note the use, at most once a minute, so that reading does not become writing."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > MARK_USE_EVERY:
        old = Q(last_used_at=None) | Q(last_used_at__lt=now - MARK_USE_EVERY)
        Token.objects.filter(old, pk=token.pk).update(last_used_at=now)
