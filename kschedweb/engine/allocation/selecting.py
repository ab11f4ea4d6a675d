"""Which devices the CEL selectors of classes and requests accept."""

from __future__ import annotations

from kschedweb.engine.allocation.pools import Candidate


class UnknownError(Exception):
    """What kube-scheduler would do is not known; the text says what it depends on."""


class SelectorError(Exception):
    """A selector cannot be evaluated; the text is kube-scheduler's, without what has the selector."""


class Selectors:
    """Answers about selectors. No expression is understood yet."""

    def matches(self, expression: str, one: Candidate) -> bool:
        """Whether ``expression`` accepts the device. Raises SelectorError and UnknownError."""
        raise UnknownError(f"whether a device meets the selector {expression}")
