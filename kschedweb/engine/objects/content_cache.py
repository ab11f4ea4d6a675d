"""Cache for values that equal content shares: pods of a template, nodes of a kind."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


class ContentCache(dict[bytes, Value]):
    """Values by the content that they were read from. All are dropped once there are ``most``."""

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self.most = max_size

    def store(self, content: bytes, value: Value) -> Value:
        """Cache ``value`` under ``content`` and return it."""
        if len(self) >= self.most:
            # Dropping all at once is cheaper than tracking use, and the next pods fill the cache again.
            self.clear()
        self[content] = value
        return value
