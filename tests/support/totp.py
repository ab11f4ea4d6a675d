"""Codes of an authenticator app."""

from __future__ import annotations

import time

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value


def code(secret: str, steps: int = 0) -> str:
    """The code of ``secret``, ``steps`` half minutes from now."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))
