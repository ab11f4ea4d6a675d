"""Queries of recorded use, which forms make and selectors answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext

from kschedweb.watermarks.figures import RESOURCE_WORDS, WORDS


@dataclass(frozen=True)
class UsageQuery:
    """A valid query: every field has a value, and the time has beginning and end."""

    resource: str
    statistic: str
    # "" for an absolute time.
    range: str
    start: datetime
    end: datetime
    # The time of a distribution; None for the newest.
    at: datetime | None
    order: str
    search: str
    # Positions in the order of the heatmap, from 1; a ``last`` of 0 is the end.
    first: int
    last: int

    @property
    def figure(self) -> str:
        """The figure in words, such as "CPU, average of 1 hour"."""
        return f"{RESOURCE_WORDS[self.resource]}, {WORDS[self.statistic]}"

    @property
    def resource_words(self) -> str:
        return RESOURCE_WORDS[self.resource]

    @property
    def is_deviation(self) -> bool:
        return self.statistic.endswith("_std")

    @property
    def unit(self) -> str:
        """The unit after a number."""
        return gettext("points") if self.is_deviation else "%"

    def ended_at(self, end: datetime) -> UsageQuery:
        """Return the query for a time of the same length that ends at ``end``."""
        return replace(self, start=end - (self.end - self.start), end=end)
