"""Times as objects of the API write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def parse_time(value: Any) -> float | None:
    """Return seconds of the epoch, ``None`` for no time. Without a zone it is taken as UTC."""
    try:
        if not isinstance(value, str):
            return None
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
