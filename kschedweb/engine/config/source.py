"""What is known of a configuration's text: its value, and what the strict decoder needs to know of how it was written.

JSON keeps its order of fields, its duplicates and how its numbers are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.values import dataclass

MAX_BYTES = 1 << 20
MAX_DEPTH = 50


class UnreadableError(ValueError):
    """The text is no document; the message is kube-scheduler's own where it has one. ``line`` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class JsonObject(dict[str, Any]):
    """An object that remembers each field as it was written, duplicates included."""

    pairs: list[tuple[str, Any]]

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


@dataclass(frozen=True)
class DocumentSource:
    """A document: its value, its text (for messages that repeat it) and YAML's complaints about duplicates."""

    value: Any
    text: str
    duplicates: tuple[str, ...] = ()
    lines: Mapping[str, int] | None = None
