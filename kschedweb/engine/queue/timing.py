"""The times of the scheduling queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.values import dataclass

# Seconds between two looks for pods that have waited for long.
FLUSH_PERIOD = 30.0
# Seconds after which a pod is tried again although nothing happened.
FLUSH_AGE = 5 * 60.0
# Seconds, the defaults of ``podInitialBackoffSeconds`` and ``podMaxBackoffSeconds``.
INITIAL_BACKOFF, LONGEST_BACKOFF = 1.0, 10.0


@dataclass(frozen=True, slots=True)
class QueueTiming:
    """The configured times of the queue, in seconds."""

    initial_backoff: float = INITIAL_BACKOFF
    longest_backoff: float = LONGEST_BACKOFF
    # A pod that has waited for longer is tried again without any event.
    flush_age: float = FLUSH_AGE
    # When the queue began to run: it looks for old pods every ``FLUSH_PERIOD`` from then.
    start: float = 0.0

    @classmethod
    def from_document(cls, document: Mapping[str, Any], start: float = 0.0) -> QueueTiming:
        """Read the times of a KubeSchedulerConfiguration."""
        return cls(
            document.get("podInitialBackoffSeconds", INITIAL_BACKOFF),
            document.get("podMaxBackoffSeconds", LONGEST_BACKOFF),
            start=start,
        )
