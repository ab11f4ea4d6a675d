"""The times that the scheduling queue goes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.values import dataclass

FLUSH_PERIOD = 30.0  # seconds between two looks for pods that have waited for long
FLUSH_AGE = 5 * 60.0  # seconds after which a pod is tried again although nothing happened
INITIAL_BACKOFF, LONGEST_BACKOFF = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class QueueTiming:
    """Seconds. ``start`` is when the queue began to run: it looks for old pods each ``FLUSH_PERIOD`` from then."""

    initial_backoff: float = INITIAL_BACKOFF
    longest_backoff: float = LONGEST_BACKOFF
    flush_age: float = FLUSH_AGE
    start: float = 0.0

    @classmethod
    def from_document(cls, document: Mapping[str, Any], start: float = 0.0) -> QueueTiming:
        """As a KubeSchedulerConfiguration says."""
        return cls(
            document.get("podInitialBackoffSeconds", INITIAL_BACKOFF),
            document.get("podMaxBackoffSeconds", LONGEST_BACKOFF),
            start=start,
        )
