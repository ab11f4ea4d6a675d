"""Virtual time in words, and in the unit of an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.utils.translation import gettext


def span(seconds: float | None) -> str:
    """A duration such as "1 d 2 h", "3 h 20 min", "4 min 5 s", "2.5 s" or "3 ms"; "–" for ``None``."""
    if seconds is None or math.isnan(seconds):
        return "–"
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else gettext("under 1 ms")
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 ", " ") if seconds < 10 else f"{min(round(seconds), 59)} s"
    whole = int(seconds)
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


@dataclass(frozen=True)
class Scale:
    """An axis of time: ``seconds`` in one ``unit``."""

    seconds: float
    unit: str

    @classmethod
    def of(cls, end: float) -> Scale:
        """The scale in which ``end`` seconds is an easily readable number."""
        if end <= 1.0:
            return cls(0.001, gettext("milliseconds"))
        if end <= 600:
            return cls(1.0, gettext("seconds"))
        if end <= 5 * 3600:
            return cls(60.0, gettext("minutes"))
        return cls(3600.0, gettext("hours")) if end <= 10 * 86400 else cls(86400.0, gettext("days"))

    def axis(self) -> dict[str, object]:
        return {"title": {"text": gettext("time in the simulation (%(unit)s)") % {"unit": self.unit}}}
