"""What is worked out once for things that are alike: pods of a template, nodes of a kind."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


class ContentCache(dict[bytes, Value]):
    """Values by the content that they were made from. All are forgotten once there are ``most``."""

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self.most = max_size

    def store(self, content: bytes, value: Value) -> Value:
        """Return ``value``, which is found under ``content`` from now on."""
        if len(self) >= self.most:
            self.clear()
        self[content] = value
        return value
