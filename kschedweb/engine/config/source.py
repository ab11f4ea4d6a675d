"""A configuration's text: its value, and the details of its writing that the strict decoder needs.

For JSON these are the order of fields, duplicates, and the spelling of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.values import dataclass

# Bytes and levels: limits of this project, so that a document cannot exhaust memory or the stack.
MAX_BYTES = 1 << 20
MAX_DEPTH = 50


class UnreadableError(ValueError):
    """The text is no document. The message is kube-scheduler's own where it has one; ``line`` counts from 1."""

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
    """A document as it was written."""

    value: Any
    # For messages that repeat it.
    text: str
    # YAML's complaints about duplicate keys.
    duplicates: tuple[str, ...] = ()
    # Line (from 1) of each path, if it is known.
    lines: Mapping[str, int] | None = None
