"""The unit of an axis of virtual time."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext


@dataclass(frozen=True)
class TimeScale:
    """The scale of an axis of time."""

    # Seconds in one ``unit``.
    seconds: float
    unit: str

    @classmethod
    def for_end(cls, end: float) -> TimeScale:
        """Return the scale in which ``end`` seconds is an easily readable number."""
        if end <= 1.0:
            return cls(0.001, gettext("milliseconds"))
        if end <= 600:
            return cls(1.0, gettext("seconds"))
        if end <= 5 * 3600:
            return cls(60.0, gettext("minutes"))
        return cls(3600.0, gettext("hours")) if end <= 10 * 86400 else cls(86400.0, gettext("days"))

    def axis_layout(self) -> dict[str, object]:
        return {"title": {"text": gettext("time in the simulation (%(unit)s)") % {"unit": self.unit}}}
